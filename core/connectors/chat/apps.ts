/** Catalogue rows for apps, agents, canvases, lists, calls and other objects of a chat workspace. */
export const CHAT_APPS = `
  *      /api/agents.conversations.archive                agent_conversation.archive            write low    channel_id
  *      /api/agents.conversations.create                 agent_conversation.create             write low    channel_id
  *      /api/agents.conversations.getCanvas              agent_conversation.get_canvas         read  low
  *      /api/agents.conversations.listViews              agent_conversation.list_views         read  low
  *      /api/agents.conversations.removeView             agent_conversation.remove_view        write low    channel_id
  *      /api/agents.conversations.setCanvasContent       agent_conversation.set_canvas_content write low    channel_id,content
  *      /api/agents.conversations.setCommands            agent_conversation.set_commands       write low    channel_id
  *      /api/agents.conversations.setProperties          agent_conversation.set_properties     write low    channel_id,agent_resource,code_channel
  *      /api/agents.conversations.setView                agent_conversation.set_view           write low    channel_id,content,blocks,csp,pr_url
  *      /api/agents.sessions.rename                      agent_session.rename                  write low    session_id
  *      /api/agents.sessions.setStatus                   agent_session.set_status              write low    session_id,icon_url
  *      /api/apps.event.authorizations.list              app.list_authorizations               read  low
  *      /api/apps.manifest.create                        app_manifest.create                   write high   manifest
  *      /api/apps.manifest.delete                        app_manifest.delete                   write high   app_id +irreversible
  *      /api/apps.manifest.export                        app_manifest.get                      read  low    app_id
  *      /api/apps.manifest.update                        app_manifest.update                   write high   app_id,manifest
  *      /api/apps.manifest.validate                      app_manifest.validate                 read  low
  *      /api/apps.uninstall                              app.uninstall                         write high   client_id +irreversible
  *      /api/apps.user.connection.update                 app.update_user_connection            write high   user_id,status
  *      /api/assistant.threads.setStatus                 assistant_thread.set_status           write low    channel_id,thread_ts,status,icon_url
  *      /api/assistant.threads.setSuggestedPrompts       assistant_thread.set_prompts          write low    channel_id,thread_ts
  *      /api/assistant.threads.setTitle                  assistant_thread.set_title            write low    channel_id,thread_ts,title
  *      /api/auth.teams.list                             auth.list_teams                       read  low
  *      /api/blocks.validate                             block.validate                        read  low    blocks,message,view
  *      /api/bots.info                                   bot.get                               read  low
  *      /api/calls.add                                   call.create                           write low    external_unique_id,join_url,users
  *      /api/calls.end                                   call.end                              write low    id
  *      /api/calls.info                                  call.get                              read  low
  *      /api/calls.participants.add                      call.add_participants                 write low    id,users
  *      /api/calls.participants.remove                   call.remove_participants              write low    id,users
  *      /api/calls.update                                call.update                           write low    id
  *      /api/canvases.access.delete                      canvas.remove_access                  write high   canvas_id,user_ids,channel_ids
  *      /api/canvases.access.set                         canvas.set_access                     write high   canvas_id,access_level,user_ids,channel_ids
  *      /api/canvases.create                             canvas.create                         write low    title,document_content
  *      /api/canvases.delete                             canvas.delete                         write high
  *      /api/canvases.edit                               canvas.update                         write low    canvas_id,changes
  *      /api/canvases.sections.lookup                    canvas.find_sections                  read  low
  *      /api/conversations.acceptSharedInvite            channel.accept_shared_invite          write high   invite_id
  *      /api/conversations.approveSharedInvite           channel.approve_shared_invite         write high   invite_id
  *      /api/conversations.canvases.create               canvas.create_in_channel              write low    channel_id,document_content
  *      /api/conversations.declineSharedInvite           channel.decline_shared_invite         write medium invite_id
  *      /api/conversations.externalInvitePermissions.set channel.set_invite_permissions        write high   action,channel,target_team
  *      /api/conversations.listConnectInvites            channel.list_shared_invites           read  low
  *      /api/conversations.requestSharedInvite.approve   channel.approve_invite_request        write high   invite_id
  *      /api/conversations.requestSharedInvite.deny      channel.deny_invite_request           write medium invite_id
  *      /api/conversations.requestSharedInvite.list      channel.list_invite_requests          read  low
  *      /api/dialog.open                                 dialog.open                           write low
  *      /api/dnd.endDnd                                  dnd.end                               write low
  *      /api/dnd.endSnooze                               dnd.end_snooze                        write low
  *      /api/dnd.info                                    dnd.get                               read  low
  *      /api/dnd.setSnooze                               dnd.set_snooze                        write low    num_minutes
  *      /api/dnd.teamInfo                                dnd.get_team                          read  low
  *      /api/entity.presentDetails                       entity.present_details                write low    metadata
  *      /api/files.remote.add                            remote_file.add                       write medium external_url,title
  *      /api/files.remote.info                           remote_file.get                       read  low
  *      /api/files.remote.list                           remote_file.list                      read  low
  *      /api/files.remote.remove                         remote_file.remove                    write medium
  *      /api/files.remote.share                          remote_file.share                     write medium channels
  *      /api/files.remote.update                         remote_file.update                    write medium external_url,title
  *      /api/functions.completeError                     function.complete_error               write low    function_execution_id
  *      /api/functions.completeSuccess                   function.complete_success             write low    function_execution_id
  *      /api/migration.exchange                          user.exchange_ids                     read  low
  *      /api/oauth.access                                oauth.create_token                    write high
  *      /api/oauth.v2.access                             oauth.create_token                    write high   @same
  *      /api/oauth.v2.exchange                           oauth.exchange_token                  write high
  *      /api/openid.connect.token                        openid.create_token                   write high
  *      /api/openid.connect.userInfo                     openid.get_user                       read  low
  *      /api/reminders.complete                          reminder.complete                     write low    reminder
  *      /api/reminders.delete                            reminder.delete                       write medium reminder
  *      /api/reminders.info                              reminder.get                          read  low
  *      /api/rtm.connect                                 rtm.connect                           write high
  *      /api/slackLists.access.delete                    list.remove_access                    write high   list_id,user_ids,channel_ids
  *      /api/slackLists.access.set                       list.set_access                       write high   list_id,access_level,user_ids,channel_ids
  *      /api/slackLists.create                           list.create                           write low    name
  *      /api/slackLists.download.get                     list.download                         write high
  *      /api/slackLists.download.start                   list.start_download                   write low    list_id
  *      /api/slackLists.items.create                     list_item.create                      write low    list_id,initial_fields
  *      /api/slackLists.items.delete                     list_item.delete                      write medium list_id,id
  *      /api/slackLists.items.deleteMultiple             list_item.delete_many                 write high   list_id,ids
  *      /api/slackLists.items.info                       list_item.get                         read  low
  *      /api/slackLists.items.list                       list_item.list                        read  low
  *      /api/slackLists.items.update                     list_item.update                      write low    list_id,cells
  *      /api/slackLists.update                           list.update                           write low    id,name
  *      /api/stars.add                                   star.add                              write low    channel,timestamp
  *      /api/stars.list                                  star.list                             read  low
  *      /api/stars.remove                                star.remove                           write low    channel,timestamp
  *      /api/team.accessLogs                             team.list_access_logs                 read  medium
  *      /api/team.billableInfo                           team.get_billable                     read  low
  *      /api/team.billing.info                           team.get_billing                      read  low
  *      /api/team.externalTeams.disconnect               external_team.disconnect              write high   target_team
  *      /api/team.externalTeams.list                     external_team.list                    read  low
  *      /api/team.integrationLogs                        team.list_integration_logs            read  low
  *      /api/team.preferences.list                       team.list_preferences                 read  low
  *      /api/team.profile.get                            team.get_profile                      read  low
  *      /api/tooling.tokens.rotate                       tooling_token.rotate                  write high
  *      /api/users.deletePhoto                           user.delete_photo                     write low
  *      /api/users.discoverableContacts.lookup           user.lookup_contact                   read  low    email
  *      /api/users.setPhoto                              user.set_photo                        write low    @content
  *      /api/workflows.featured.add                      workflow.add_featured                 write low    channel_id,trigger_ids
  *      /api/workflows.featured.list                     workflow.list_featured                read  low
  *      /api/workflows.featured.remove                   workflow.remove_featured              write low    channel_id,trigger_ids
  *      /api/workflows.featured.set                      workflow.set_featured                 write low    channel_id,trigger_ids
`
