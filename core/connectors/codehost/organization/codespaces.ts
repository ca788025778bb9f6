/** Catalogue rows for codespaces, the cloud development environments of GitHub. */
export const CODESPACES = `
  GET    /orgs/{org}/codespaces                                              codespace.list                        read  low
  PUT    /orgs/{org}/codespaces/access                                       org_codespaces_access.set             write high   visibility
  POST   /orgs/{org}/codespaces/access/selected_users                        org_codespaces_access.add_users       write high   selected_usernames
  DELETE /orgs/{org}/codespaces/access/selected_users                        org_codespaces_access.remove_users    write high   selected_usernames
  GET    /orgs/{org}/members/{username}/codespaces                           codespace.list                        read  low
  DELETE /orgs/{org}/members/{username}/codespaces/{codespace_name}          codespace.delete                      write high   @same
  POST   /orgs/{org}/members/{username}/codespaces/{codespace_name}/stop     codespace.stop                        write medium @same
  GET    /repos/{owner}/{repo}/codespaces                                    codespace.list                        read  low
  POST   /repos/{owner}/{repo}/codespaces                                    codespace.create                      write medium ref,machine @same
  GET    /repos/{owner}/{repo}/codespaces/devcontainers                      codespace.list_devcontainers          read  low
  GET    /repos/{owner}/{repo}/codespaces/machines                           codespace.list_machines               read  low
  GET    /repos/{owner}/{repo}/codespaces/new                                codespace.get_defaults                read  low
  GET    /repos/{owner}/{repo}/codespaces/permissions_check                  codespace.check_permissions           read  low
  GET    /repos/{owner}/{repo}/codespaces/secrets                            codespaces_secret.list                read  low
  GET    /repos/{owner}/{repo}/codespaces/secrets/public-key                 codespaces_secret.get_public_key      read  low
  GET    /repos/{owner}/{repo}/codespaces/secrets/{secret_name}              codespaces_secret.get                 read  low
  PUT    /repos/{owner}/{repo}/codespaces/secrets/{secret_name}              codespaces_secret.set                 write high
  DELETE /repos/{owner}/{repo}/codespaces/secrets/{secret_name}              codespaces_secret.delete              write high
  GET    /user/codespaces                                                    codespace.list                        read  low
  POST   /user/codespaces                                                    codespace.create                      write medium repository_id,ref,machine @same
  GET    /user/codespaces/secrets                                            user_codespaces_secret.list           read  low
  GET    /user/codespaces/secrets/public-key                                 user_codespaces_secret.get_public_key read  low
  GET    /user/codespaces/secrets/{secret_name}                              user_codespaces_secret.get            read  low
  PUT    /user/codespaces/secrets/{secret_name}                              user_codespaces_secret.set            write high
  DELETE /user/codespaces/secrets/{secret_name}                              user_codespaces_secret.delete         write high
  GET    /user/codespaces/secrets/{secret_name}/repositories                 user_codespaces_secret.list_repos     read  low
  PUT    /user/codespaces/secrets/{secret_name}/repositories                 user_codespaces_secret.set_repos      write high
  PUT    /user/codespaces/secrets/{secret_name}/repositories/{repository_id} user_codespaces_secret.add_repo       write high
  DELETE /user/codespaces/secrets/{secret_name}/repositories/{repository_id} user_codespaces_secret.remove_repo    write high
  GET    /user/codespaces/{codespace_name}                                   codespace.get                         read  low
  PATCH  /user/codespaces/{codespace_name}                                   codespace.update                      write medium
  DELETE /user/codespaces/{codespace_name}                                   codespace.delete                      write high
  POST   /user/codespaces/{codespace_name}/exports                           codespace.export                      write medium
  GET    /user/codespaces/{codespace_name}/exports/{export_id}               codespace.get_export                  read  low
  GET    /user/codespaces/{codespace_name}/machines                          codespace.list_machines               read  low
  POST   /user/codespaces/{codespace_name}/publish                           codespace.publish                     write high   name,private
  POST   /user/codespaces/{codespace_name}/start                             codespace.start                       write medium
  POST   /user/codespaces/{codespace_name}/stop                              codespace.stop                        write medium
`
