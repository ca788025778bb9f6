/** Effect classes of the operations of the connector type `chat`. `effect-table.ts` describes the format. */
export const CHAT_EFFECTS = `
  # Anyone with the link can open the file.
  publish file.publish
  # The response contains a token, a secret or a sign-in URL.
  credential_out app.open_connection rtm.connect openid.create_token tooling_token.rotate
  credential_out,access_grant oauth.{create_token,exchange_token}
  # An app is created or its rights change; the response for a new one contains its secrets.
  credential_out,access_grant app_manifest.create
  access_grant app_manifest.update admin_app.{approve,clear_resolution,set_config}
  # Users of other organizations gain access to a channel.
  visibility,access_grant channel.{accept_shared_invite,approve_shared_invite,invite_shared}
  # Visibility of a channel or a workspace.
  visibility admin_channel.{convert_to_private,convert_to_public} admin_team.set_discoverability
  # Users, groups and roles gain rights.
  access_grant admin.{assign_user,invite,set_admin,set_owner,set_regular} admin_role.add_assignments
  access_grant admin_channel.{add_group,invite,set_prefs} admin_invite_request.approve
  access_grant admin_usergroup.{add_channels,add_teams} admin_function.set_permissions
  access_grant admin_workflow.add_collaborators
  access_grant admin_auth_policy.{assign,remove} admin_barrier.{delete,update}
  access_grant admin_session.{clear_settings,set_settings}
  access_grant admin_user.set_expiration channel.{approve_invite_request,invite,set_invite_permissions}
  access_grant canvas.set_access list.set_access usergroup.{enable,set_users}
  # Data stored at the provider is deleted.
  delete admin_channel.{bulk_delete,delete,set_custom_retention} admin_emoji.remove admin_workflow.unpublish
  delete app_manifest.delete app.uninstall admin_app.uninstall bookmark.remove canvas.delete
  delete file.{delete,delete_comment}
  delete list_item.{delete,delete_many} message.delete reminder.delete user.delete_photo
  # A channel moves to other workspaces.
  visibility,access_grant admin_channel.set_teams
  visibility admin_channel.bulk_move
  # Visible to users of the workspace; fields determine fetched links and other names.
  none message.{append_stream,post,post_ephemeral,post_me,schedule,start_stream,stop_stream,unfurl}
  none message.{unschedule,update} assistant_thread.{set_prompts,set_status,set_title}
  none agent_conversation.{archive,create,remove_view,set_canvas_content,set_commands,set_properties}
  none agent_conversation.set_view agent_session.{rename,set_status} bookmark.{add,update}
  none call.{add_participants,create,end,remove_participants,update}
  none canvas.{create,create_in_channel,remove_access,update} dialog.open entity.present_details
  none file.{unpublish,upload} list.{create,download,remove_access,start_download,update}
  none list_item.{create,update} pin.{add,remove} reaction.{add,remove}
  none remote_file.{add,remove,share,update} view.{open,publish,push,update}
  none function.{complete_error,complete_success}
  # Structure of channels, groups and the workspace.
  none channel.{archive,close,create,decline_shared_invite,deny_invite_request,join,kick,leave,mark}
  none channel.{open,rename,set_purpose,set_topic,unarchive} usergroup.{create,disable,update}
  none workflow.{add_featured,remove_featured,set_featured}
  none admin_channel.{archive,bulk_archive,create,disconnect_shared,remove_custom_retention}
  none admin_channel.{remove_group,rename,unarchive} admin_emoji.{add,add_alias,rename}
  none admin_team.{create,set_default_channels,set_description,set_icon,set_name}
  none admin_app.{cancel_request,restrict} external_team.disconnect
  # Rights of accounts are revoked.
  none admin.remove_user admin_invite_request.deny admin_role.remove_assignments
  none admin_session.{invalidate,reset,reset_bulk} admin_usergroup.remove_channels
  none admin_workflow.remove_collaborators auth.revoke app.update_user_connection admin_barrier.create
  # The account's own settings.
  none dnd.{end,end_snooze,set_snooze} reminder.{complete,create} star.{add,remove}
  none user.{set_photo,set_presence,set_profile} admin_user.export_unsupported_versions
  # Reads that return no secret.
  none @reads
`
