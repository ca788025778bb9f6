/** Catalogue rows for the code host account that the credential belongs to, and for accounts of other users. */
export const ACCOUNT = `
  GET    /user/blocks                                             user_block.list                        read  low
  GET    /user/blocks/{username}                                  user_block.check                       read  low
  PUT    /user/blocks/{username}                                  user_block.add                         write medium
  DELETE /user/blocks/{username}                                  user_block.remove                      write medium
  PATCH  /user/email/visibility                                   user_email.set_visibility              write high   visibility
  POST   /user/emails                                             user_email.add                         write high   emails
  DELETE /user/emails                                             user_email.remove                      write high   emails
  GET    /user/followers                                          follower.list                          read  low
  GET    /user/following                                          following.list                         read  low
  GET    /user/following/{username}                               following.check                        read  low
  PUT    /user/following/{username}                               following.add                          write low
  DELETE /user/following/{username}                               following.remove                       write low
  GET    /user/gpg_keys                                           gpg_key.list                           read  low
  POST   /user/gpg_keys                                           gpg_key.create                         write high
  GET    /user/gpg_keys/{gpg_key_id}                              gpg_key.get                            read  low
  DELETE /user/gpg_keys/{gpg_key_id}                              gpg_key.delete                         write high
  GET    /user/keys                                               ssh_key.list                           read  low
  POST   /user/keys                                               ssh_key.create                         write high
  GET    /user/keys/{key_id}                                      ssh_key.get                            read  low
  DELETE /user/keys/{key_id}                                      ssh_key.delete                         write high
  GET    /user/memberships/orgs                                   org_membership.list                    read  low
  GET    /user/memberships/orgs/{org}                             org_membership.get                     read  low
  PATCH  /user/memberships/orgs/{org}                             org_membership.accept                  write high   state
  GET    /user/public_emails                                      user_email.list_public                 read  low
  GET    /user/repository_invitations                             repo_invitation.list                   read  low
  PATCH  /user/repository_invitations/{invitation_id}             repo_invitation.accept                 write high
  DELETE /user/repository_invitations/{invitation_id}             repo_invitation.decline                write low
  GET    /user/social_accounts                                    social_account.list                    read  low
  POST   /user/social_accounts                                    social_account.add                     write medium account_urls
  DELETE /user/social_accounts                                    social_account.remove                  write medium account_urls
  GET    /user/ssh_signing_keys                                   ssh_signing_key.list                   read  low
  POST   /user/ssh_signing_keys                                   ssh_signing_key.create                 write high
  GET    /user/ssh_signing_keys/{ssh_signing_key_id}              ssh_signing_key.get                    read  low
  DELETE /user/ssh_signing_keys/{ssh_signing_key_id}              ssh_signing_key.delete                 write high
  GET    /user/starred                                            star.list                              read  low
  GET    /user/starred/{owner}/{repo}                             star.check                             read  low
  PUT    /user/starred/{owner}/{repo}                             star.add                               write low
  DELETE /user/starred/{owner}/{repo}                             star.remove                            write low
  GET    /user/subscriptions                                      subscription.list                      read  low
  GET    /user/{user_number}                                      user.get                               read  low
  GET    /users/{username}/events                                 event.list_of_user                     read  low
  GET    /users/{username}/events/orgs/{org}                      event.list_in_org                      read  low
  GET    /users/{username}/events/public                          event.list_of_user                     read  low
  GET    /users/{username}/followers                              follower.list                          read  low
  GET    /users/{username}/following                              following.list                         read  low
  GET    /users/{username}/following/{target_user}                following.check                        read  low
  GET    /users/{username}/gists                                  gist.list                              read  low
  GET    /users/{username}/gpg_keys                               gpg_key.list                           read  low
  GET    /users/{username}/hovercard                              user.get_hovercard                     read  low
  GET    /users/{username}/keys                                   ssh_key.list                           read  low
  GET    /users/{username}/received_events                        event.list_received                    read  low
  GET    /users/{username}/received_events/public                 event.list_received                    read  low
  GET    /users/{username}/settings/billing/ai_credit/usage       user_billing.get_ai_credit_usage       read  low
  GET    /users/{username}/settings/billing/premium_request/usage user_billing.get_premium_request_usage read  low
  GET    /users/{username}/settings/billing/usage                 user_billing.get_usage                 read  low
  GET    /users/{username}/settings/billing/usage/summary         user_billing.get_usage_summary         read  low
  GET    /users/{username}/social_accounts                        social_account.list                    read  low
  GET    /users/{username}/ssh_signing_keys                       ssh_signing_key.list                   read  low
  GET    /users/{username}/starred                                star.list                              read  low starring:read
  GET    /users/{username}/subscriptions                          subscription.list                      read  low
`
