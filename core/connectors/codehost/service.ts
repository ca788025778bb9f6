/** Catalogue rows for gists, threads, events, classrooms, older team addresses and global lists. */
export const SERVICE = `
  GET    /assignments/{assignment_id}                      classroom_assignment.get           read  low
  GET    /assignments/{assignment_id}/accepted_assignments classroom_assignment.list_accepted read  low
  GET    /assignments/{assignment_id}/grades               classroom_assignment.list_grades   read  low
  GET    /classrooms                                       classroom.list                     read  low
  GET    /classrooms/{classroom_id}                        classroom.get                      read  low
  GET    /classrooms/{classroom_id}/assignments            classroom_assignment.list          read  low
  GET    /codes_of_conduct                                 code_of_conduct.list               read  low
  GET    /codes_of_conduct/{key}                           code_of_conduct.get                read  low
  GET    /emojis                                           meta.list_emojis                   read  low
  GET    /events                                           event.list_public                  read  low
  GET    /feeds                                            event.list_feeds                   read  low
  GET    /gists/{gist_id}/comments                         gist_comment.list                  read  low
  POST   /gists/{gist_id}/comments                         gist_comment.create                write low    body
  GET    /gists/{gist_id}/comments/{comment_id}            gist_comment.get                   read  low
  PATCH  /gists/{gist_id}/comments/{comment_id}            gist_comment.update                write low    body
  DELETE /gists/{gist_id}/comments/{comment_id}            gist_comment.delete                write high
  GET    /gists/{gist_id}/commits                          gist.list_commits                  read  low
  GET    /gists/{gist_id}/forks                            gist.list_forks                    read  low
  POST   /gists/{gist_id}/forks                            gist.fork                          write medium
  GET    /gists/{gist_id}/star                             gist.check_starred                 read  low
  PUT    /gists/{gist_id}/star                             gist.star                          write low
  DELETE /gists/{gist_id}/star                             gist.unstar                        write low
  GET    /gists/{gist_id}/{sha}                            gist.get_revision                  read  low
  GET    /gitignore/templates                              gitignore_template.list            read  low
  GET    /gitignore/templates/{name}                       gitignore_template.get             read  low
  GET    /licenses                                         license.list                       read  low
  GET    /licenses/{license}                               license.get                        read  low
  POST   /markdown                                         markdown.render                    read  low    text contents:read
  POST   /markdown/raw                                     markdown.render_raw                read  low
  GET    /networks/{owner}/{repo}/events                   event.list_in_network              read  low
  DELETE /notifications/threads/{thread_id}                notification.mark_done             write low
  GET    /notifications/threads/{thread_id}/subscription   notification.get_subscription      read  low
  PUT    /notifications/threads/{thread_id}/subscription   notification.set_subscription      write low    ignored
  DELETE /notifications/threads/{thread_id}/subscription   notification.delete_subscription   write low
  GET    /octocat                                          meta.get_octocat                   read  low
  GET    /teams/{team_id}                                  team.get                           read  low members:read
  PATCH  /teams/{team_id}                                  team.update                        write high   name,privacy @same members:write
  DELETE /teams/{team_id}                                  team.delete                        write high   +irreversible @same members:write
  GET    /teams/{team_id}/invitations                      team.list_invitations              read  low members:read
  GET    /teams/{team_id}/members                          team_member.list                   read  low members:read
  GET    /teams/{team_id}/members/{username}               team_member.get                    read  low members:read
  PUT    /teams/{team_id}/members/{username}               team_member.set                    write high   @same members:write
  DELETE /teams/{team_id}/members/{username}               team_member.remove                 write high   @same members:write
  GET    /teams/{team_id}/memberships/{username}           team_member.get                    read  low members:read
  PUT    /teams/{team_id}/memberships/{username}           team_member.set                    write high   role @same members:write
  DELETE /teams/{team_id}/memberships/{username}           team_member.remove                 write high   @same members:write
  GET    /teams/{team_id}/repos                            team_repo.list                     read  low members:read
  GET    /teams/{team_id}/repos/{owner}/{repo}             team_repo.check                    read  low members:read
  PUT    /teams/{team_id}/repos/{owner}/{repo}             team_repo.set                      write high   permission @same administration:write,members:read
  DELETE /teams/{team_id}/repos/{owner}/{repo}             team_repo.remove                   write high   @same administration:write,members:read
  GET    /teams/{team_id}/teams                            team.list_children                 read  low members:read
  GET    /versions                                         meta.list_versions                 read  low
`
