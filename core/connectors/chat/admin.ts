/** Catalogue rows for chat API methods that administrators of an organization use. */
export const CHAT_ADMIN = `
  *      /api/admin.analytics.getFile                                  admin_analytics.get_file               read  medium
  *      /api/admin.apps.activities.list                               admin_app.list_activities              read  low
  *      /api/admin.apps.approve                                       admin_app.approve                      write high   app_id,request_id
  *      /api/admin.apps.approved.list                                 admin_app.list_approved                read  low
  *      /api/admin.apps.clearResolution                               admin_app.clear_resolution             write high   app_id,request_id
  *      /api/admin.apps.config.lookup                                 admin_app.get_config                   read  low
  *      /api/admin.apps.config.set                                    admin_app.set_config                   write high   app_id
  *      /api/admin.apps.requests.cancel                               admin_app.cancel_request               write high   app_id,request_id
  *      /api/admin.apps.requests.list                                 admin_app.list_requests                read  low
  *      /api/admin.apps.restrict                                      admin_app.restrict                     write high   app_id,request_id
  *      /api/admin.apps.restricted.list                               admin_app.list_restricted              read  low
  *      /api/admin.apps.uninstall                                     admin_app.uninstall                    write high   app_id,request_id
  *      /api/admin.auth.policy.assignEntities                         admin_auth_policy.assign               write high   policy_name,entity_ids
  *      /api/admin.auth.policy.getEntities                            admin_auth_policy.list_entities        read  low
  *      /api/admin.auth.policy.removeEntities                         admin_auth_policy.remove               write high   policy_name,entity_ids
  *      /api/admin.barriers.create                                    admin_barrier.create                   write high   primary_usergroup_id
  *      /api/admin.barriers.delete                                    admin_barrier.delete                   write high   primary_usergroup_id
  *      /api/admin.barriers.list                                      admin_barrier.list                     read  low
  *      /api/admin.barriers.update                                    admin_barrier.update                   write high   primary_usergroup_id
  *      /api/admin.conversations.archive                              admin_channel.archive                  write high   channel_id,channel_ids
  *      /api/admin.conversations.bulkArchive                          admin_channel.bulk_archive             write high   channel_id,channel_ids
  *      /api/admin.conversations.bulkDelete                           admin_channel.bulk_delete              write high   channel_id,channel_ids
  *      /api/admin.conversations.bulkMove                             admin_channel.bulk_move                write high   channel_id,channel_ids
  *      /api/admin.conversations.convertToPrivate                     admin_channel.convert_to_private       write high   channel_id,channel_ids
  *      /api/admin.conversations.convertToPublic                      admin_channel.convert_to_public        write high   channel_id,channel_ids
  *      /api/admin.conversations.create                               admin_channel.create                   write high   name,is_private,team_id
  *      /api/admin.conversations.delete                               admin_channel.delete                   write high   channel_id,channel_ids
  *      /api/admin.conversations.disconnectShared                     admin_channel.disconnect_shared        write high   channel_id,channel_ids
  *      /api/admin.conversations.ekm.listOriginalConnectedChannelInfo admin_channel.list_ekm_info            read  low
  *      /api/admin.conversations.getConversationPrefs                 admin_channel.get_prefs                read  low
  *      /api/admin.conversations.getCustomRetention                   admin_channel.get_custom_retention     read  low
  *      /api/admin.conversations.getTeams                             admin_channel.get_teams                read  low
  *      /api/admin.conversations.invite                               admin_channel.invite                   write high   channel_id,channel_ids
  *      /api/admin.conversations.lookup                               admin_channel.find                     read  low
  *      /api/admin.conversations.removeCustomRetention                admin_channel.remove_custom_retention  write high   channel_id,channel_ids
  *      /api/admin.conversations.rename                               admin_channel.rename                   write high   channel_id,channel_ids
  *      /api/admin.conversations.restrictAccess.addGroup              admin_channel.add_group                write high   channel_id,group_id
  *      /api/admin.conversations.restrictAccess.listGroups            admin_channel.list_groups              read  low
  *      /api/admin.conversations.restrictAccess.removeGroup           admin_channel.remove_group             write high   channel_id,group_id
  *      /api/admin.conversations.search                               admin_channel.search                   read  low
  *      /api/admin.conversations.setConversationPrefs                 admin_channel.set_prefs                write high   channel_id
  *      /api/admin.conversations.setCustomRetention                   admin_channel.set_custom_retention     write high   channel_id,channel_ids
  *      /api/admin.conversations.setTeams                             admin_channel.set_teams                write high   channel_id,channel_ids
  *      /api/admin.conversations.unarchive                            admin_channel.unarchive                write high   channel_id,channel_ids
  *      /api/admin.emoji.add                                          admin_emoji.add                        write high   name,url
  *      /api/admin.emoji.addAlias                                     admin_emoji.add_alias                  write high   name
  *      /api/admin.emoji.list                                         admin_emoji.list                       read  low
  *      /api/admin.emoji.remove                                       admin_emoji.remove                     write high   name
  *      /api/admin.emoji.rename                                       admin_emoji.rename                     write high   name
  *      /api/admin.functions.list                                     admin_function.list                    read  low
  *      /api/admin.functions.permissions.lookup                       admin_function.get_permissions         read  low
  *      /api/admin.functions.permissions.set                          admin_function.set_permissions         write high   function_id,visibility
  *      /api/admin.inviteRequests.approve                             admin_invite_request.approve           write high   invite_request_id
  *      /api/admin.inviteRequests.approved.list                       admin_invite_request.list_approved     read  low
  *      /api/admin.inviteRequests.denied.list                         admin_invite_request.list_denied       read  low
  *      /api/admin.inviteRequests.deny                                admin_invite_request.deny              write high   invite_request_id
  *      /api/admin.inviteRequests.list                                admin_invite_request.list              read  low
  *      /api/admin.roles.addAssignments                               admin_role.add_assignments             write high   role_id,user_ids,entity_ids
  *      /api/admin.roles.listAssignments                              admin_role.list_assignments            read  low
  *      /api/admin.roles.removeAssignments                            admin_role.remove_assignments          write high   role_id,user_ids,entity_ids
  *      /api/admin.teams.admins.list                                  admin_team.list_admins                 read  low
  *      /api/admin.teams.create                                       admin_team.create                      write high   team_domain,team_name
  *      /api/admin.teams.list                                         admin_team.list                        read  low
  *      /api/admin.teams.owners.list                                  admin_team.list_owners                 read  low
  *      /api/admin.teams.settings.info                                admin_team.get_settings                read  low
  *      /api/admin.teams.settings.setDefaultChannels                  admin_team.set_default_channels        write high   team_id
  *      /api/admin.teams.settings.setDescription                      admin_team.set_description             write high   team_id
  *      /api/admin.teams.settings.setDiscoverability                  admin_team.set_discoverability         write high   team_id
  *      /api/admin.teams.settings.setIcon                             admin_team.set_icon                    write high   team_id,image_url
  *      /api/admin.teams.settings.setName                             admin_team.set_name                    write high   team_id
  *      /api/admin.usergroups.addChannels                             admin_usergroup.add_channels           write high   usergroup_id
  *      /api/admin.usergroups.addTeams                                admin_usergroup.add_teams              write high   usergroup_id
  *      /api/admin.usergroups.listChannels                            admin_usergroup.list_channels          read  low
  *      /api/admin.usergroups.removeChannels                          admin_usergroup.remove_channels        write high   usergroup_id
  *      /api/admin.users.getExpiration                                admin_user.get_expiration              read  low
  *      /api/admin.users.session.clearSettings                        admin_session.clear_settings           write high   user_ids
  *      /api/admin.users.session.getSettings                          admin_session.get_settings             read  low
  *      /api/admin.users.session.invalidate                           admin_session.invalidate               write high   session_id
  *      /api/admin.users.session.list                                 admin_session.list                     read  low
  *      /api/admin.users.session.reset                                admin_session.reset                    write high   user_id
  *      /api/admin.users.session.resetBulk                            admin_session.reset_bulk               write high   user_ids
  *      /api/admin.users.session.setSettings                          admin_session.set_settings             write high   user_ids
  *      /api/admin.users.setExpiration                                admin_user.set_expiration              write high   user_id,expiration_ts
  *      /api/admin.users.unsupportedVersions.export                   admin_user.export_unsupported_versions write medium
  *      /api/admin.workflows.collaborators.add                        admin_workflow.add_collaborators       write high   workflow_ids,collaborator_ids
  *      /api/admin.workflows.collaborators.remove                     admin_workflow.remove_collaborators    write high   workflow_ids,collaborator_ids
  *      /api/admin.workflows.permissions.lookup                       admin_workflow.get_permissions         read  low
  *      /api/admin.workflows.search                                   admin_workflow.search                  read  low
  *      /api/admin.workflows.unpublish                                admin_workflow.unpublish               write high   workflow_ids
`
