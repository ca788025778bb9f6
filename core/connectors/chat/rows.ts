/**
 * Catalogue rows for chat messages, channels, files and users. The API accepts any HTTP method, so a row has the
 * method `*` and the path of an API method.
 */
export const CHAT_BASICS = `
  *  /api/chat.postMessage                     message.post               write low    channel,text,thread_ts,blocks,attachments,unfurl_links,unfurl_media,username,icon_url,icon_emoji,markdown_text,parse,metadata
  *  /api/chat.postEphemeral                   message.post_ephemeral     write low    channel,text,user,blocks,attachments,username,icon_url,icon_emoji,markdown_text,parse
  *  /api/chat.meMessage                       message.post_me            write low    channel,text
  *  /api/chat.update                          message.update             write low    channel,ts,text,blocks,attachments,markdown_text,parse,metadata
  *  /api/chat.delete                          message.delete             write medium channel,ts +irreversible
  *  /api/chat.scheduleMessage                 message.schedule           write low    channel,text,post_at,blocks,attachments,unfurl_links,unfurl_media,markdown_text,parse,metadata
  *  /api/chat.deleteScheduledMessage          message.unschedule         write low    channel,scheduled_message_id
  *  /api/chat.scheduledMessages.list          message.list_scheduled     read  low    channel
  *  /api/chat.getPermalink                    message.get_permalink      read  low    channel,message_ts
  *  /api/chat.unfurl                          message.unfurl             write low    channel,ts,unfurls,metadata,user_auth_blocks
  *  /api/chat.startStream                     message.start_stream       write low    channel,markdown_text,chunks,icon_url
  *  /api/chat.appendStream                    message.append_stream      write low    channel,ts,markdown_text,chunks
  *  /api/chat.stopStream                      message.stop_stream        write low    channel,ts,markdown_text,chunks,blocks,metadata
  *  /api/conversations.history                message.list               read  low    channel
  *  /api/conversations.replies                message.list_replies       read  low    channel,ts
  *  /api/search.messages                      message.search             read  low    query
  *  /api/search.files                         file.search                read  low    query
  *  /api/search.all                           search.all                 read  low    query

  *  /api/conversations.list                   channel.list               read  low
  *  /api/conversations.info                   channel.get                read  low    channel
  *  /api/conversations.members                channel.list_members       read  low    channel
  *  /api/conversations.create                 channel.create             write medium name,is_private
  *  /api/conversations.archive                channel.archive            write medium channel
  *  /api/conversations.unarchive              channel.unarchive          write medium channel
  *  /api/conversations.invite                 channel.invite             write low    channel,users
  *  /api/conversations.inviteShared           channel.invite_shared      write high   channel,emails
  *  /api/conversations.kick                   channel.kick               write medium channel,user
  *  /api/conversations.join                   channel.join               write low    channel
  *  /api/conversations.leave                  channel.leave              write low    channel
  *  /api/conversations.open                   channel.open               write low    users
  *  /api/conversations.close                  channel.close              write low    channel
  *  /api/conversations.mark                   channel.mark               write low    channel,ts
  *  /api/conversations.rename                 channel.rename             write medium channel,name
  *  /api/conversations.setTopic               channel.set_topic          write low    channel,topic
  *  /api/conversations.setPurpose             channel.set_purpose        write low    channel,purpose

  *  /api/files.upload                         file.upload                write medium channels,filename,initial_comment @opaque
  *  /api/files.getUploadURLExternal           file.upload                write medium filename,length @same
  *  /api/files.completeUploadExternal         file.upload                write medium channel_id,files,initial_comment,blocks @same
  *  /upload/v1/{ticket+}                      file.upload                write medium @same @content
  *  /api/files.delete                         file.delete                write medium file +irreversible
  *  /api/files.list                           file.list                  read  low    channel
  *  /api/files.info                           file.get                   read  low    file
  *  /files-pri/{path+}                        file.download              read  low
  *  /api/files.sharedPublicURL                file.publish               write high   file
  *  /api/files.revokePublicURL                file.unpublish             write low    file
  *  /api/files.comments.delete                file.delete_comment        write low    file,id

  *  /api/users.list                           user.list                  read  low
  *  /api/users.info                           user.get                   read  low    user
  *  /api/users.lookupByEmail                  user.lookup                read  low    email
  *  /api/users.conversations                  user.list_channels         read  low    user
  *  /api/users.getPresence                    user.get_presence          read  low    user
  *  /api/users.identity                       user.get_identity          read  low
  *  /api/users.profile.get                    user.get_profile           read  low    user
  *  /api/users.profile.set                    user.set_profile           write medium user
  *  /api/users.setPresence                    user.set_presence          write low    presence
  *  /api/usergroups.list                      usergroup.list             read  low
  *  /api/usergroups.create                    usergroup.create           write medium name,handle
  *  /api/usergroups.update                    usergroup.update           write medium usergroup,name
  *  /api/usergroups.disable                   usergroup.disable          write medium usergroup
  *  /api/usergroups.enable                    usergroup.enable           write medium usergroup
  *  /api/usergroups.users.list                usergroup.list_users       read  low    usergroup
  *  /api/usergroups.users.update              usergroup.set_users        write medium usergroup,users

  *  /api/reactions.add                        reaction.add               write low    channel,timestamp,name
  *  /api/reactions.remove                     reaction.remove            write low    channel,timestamp,name
  *  /api/reactions.get                        reaction.get               read  low    channel,timestamp
  *  /api/reactions.list                       reaction.list              read  low    user
  *  /api/pins.add                             pin.add                    write low    channel,timestamp
  *  /api/pins.remove                          pin.remove                 write low    channel,timestamp
  *  /api/pins.list                            pin.list                   read  low    channel
  *  /api/bookmarks.add                        bookmark.add               write low    channel_id,title,link
  *  /api/bookmarks.edit                       bookmark.update            write low    channel_id,bookmark_id,link
  *  /api/bookmarks.remove                     bookmark.remove            write low    channel_id,bookmark_id
  *  /api/bookmarks.list                       bookmark.list              read  low    channel_id
  *  /api/reminders.add                        reminder.create            write low    text,time
  *  /api/reminders.list                       reminder.list              read  low
  *  /api/views.open                           view.open                  write low    view
  *  /api/views.push                           view.push                  write low    view
  *  /api/views.update                         view.update                write low    view
  *  /api/views.publish                        view.publish               write low    view
  *  /api/team.info                            team.get                   read  low
  *  /api/emoji.list                           emoji.list                 read  low
  *  /api/auth.test                            auth.test                  read  low
  *  /api/auth.revoke                          auth.revoke                write high   +irreversible
  *  /api/api.test                             auth.test_api              read  low
  *  /api/apps.connections.open                app.open_connection        write medium

  *  /api/admin.users.invite                   admin.invite               write high   email,channel_ids,team_id
  *  /api/admin.users.list                     admin.list_users           read  low
  *  /api/admin.users.remove                   admin.remove_user          write high   user_id,team_id
  *  /api/admin.users.assign                   admin.assign_user          write high   user_id,team_id
  *  /api/admin.users.setAdmin                 admin.set_admin            write high   user_id,team_id
  *  /api/admin.users.setOwner                 admin.set_owner            write high   user_id,team_id
  *  /api/admin.users.setRegular               admin.set_regular          write high   user_id,team_id
`
