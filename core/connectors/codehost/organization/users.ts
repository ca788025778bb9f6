/** Catalogue rows for organizations, teams, users, search, gists and notifications of the code host. */
export const USERS = `
  GET    /                                                             meta.get_root              read  low
  GET    /meta                                                         meta.get                   read  low
  GET    /zen                                                          meta.get_zen               read  low
  GET    /rate_limit                                                   rate_limit.get             read  low
  GET    /orgs/{org}                                                   org.get                    read  low
  PATCH  /orgs/{org}                                                   org.update                 write medium organization_administration:write
  DELETE /orgs/{org}                                                   org.delete                 write high   +irreversible organization_administration:write
  GET    /organizations                                                org.list                   read  low
  GET    /user/orgs                                                    org.list                   read  low
  GET    /users/{username}/orgs                                        org.list                   read  low
  GET    /orgs/{org}/members                                           org_member.list            read  low members:read
  GET    /orgs/{org}/members/{username}                                org_member.check           read  low members:read
  DELETE /orgs/{org}/members/{username}                                org_member.remove          write high members:write
  GET    /orgs/{org}/memberships/{username}                            org_member.get             read  low members:read
  PUT    /orgs/{org}/memberships/{username}                            org_member.set             write high   role members:write
  DELETE /orgs/{org}/memberships/{username}                            org_member.remove          write high @same members:write
  GET    /orgs/{org}/teams                                             team.list                  read  low members:read
  POST   /orgs/{org}/teams                                             team.create                write low    name,privacy,parent_team_id members:write
  GET    /orgs/{org}/teams/{team_slug}                                 team.get                   read  low members:read
  PATCH  /orgs/{org}/teams/{team_slug}                                 team.update                write high   name,privacy members:write
  DELETE /orgs/{org}/teams/{team_slug}                                 team.delete                write high   +irreversible members:write
  GET    /orgs/{org}/teams/{team_slug}/members                         team_member.list           read  low members:read
  GET    /orgs/{org}/teams/{team_slug}/memberships/{username}          team_member.get            read  low members:read
  PUT    /orgs/{org}/teams/{team_slug}/memberships/{username}          team_member.set            write high   role members:write
  DELETE /orgs/{org}/teams/{team_slug}/memberships/{username}          team_member.remove         write high members:write
  GET    /orgs/{org}/teams/{team_slug}/repos                           team_repo.list             read  low members:read
  GET    /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}            team_repo.check            read  low members:read
  PUT    /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}            team_repo.set              write high   permission administration:write,members:read
  DELETE /orgs/{org}/teams/{team_slug}/repos/{owner}/{repo}            team_repo.remove           write high administration:write,members:read
  GET    /user                                                         user.get_self              read  low
  PATCH  /user                                                         user.update                write medium
  GET    /user/teams                                                   team.list                  read  low
  GET    /user/emails                                                  user_email.list            read  low
  GET    /users                                                        user.list                  read  low
  GET    /users/{username}                                             user.get                   read  low
  GET    /search/code                                                  search.code                read  low    q
  GET    /search/commits                                               search.commits             read  low    q
  GET    /search/issues                                                search.issues              read  low    q
  GET    /search/labels                                                search.labels              read  low    q metadata:read
  GET    /search/repositories                                          search.repos               read  low    q
  GET    /search/topics                                                search.topics              read  low    q
  GET    /search/users                                                 search.users               read  low    q
  GET    /gists                                                        gist.list                  read  low
  POST   /gists                                                        gist.create                write medium description,public
  GET    /gists/public                                                 gist.list_public           read  low
  GET    /gists/starred                                                gist.list_starred          read  low
  GET    /gists/{gist_id}                                              gist.get                   read  low
  PATCH  /gists/{gist_id}                                              gist.update                write low    description
  DELETE /gists/{gist_id}                                              gist.delete                write medium +irreversible
  GET    /notifications                                                notification.list          read  low
  PUT    /notifications                                                notification.mark_read     write low
  GET    /notifications/threads/{thread_id}                            notification.get           read  low
  PATCH  /notifications/threads/{thread_id}                            notification.mark_read     write low @same
`
