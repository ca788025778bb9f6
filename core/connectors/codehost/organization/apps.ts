/** Catalogue rows for apps, their installations and tokens, and the marketplace. */
export const APPS = `
  GET    /app                                                               app.get_self                  read  low
  POST   /app-manifests/{code}/conversions                                  app.create_from_manifest      write high
  GET    /app/hook/config                                                   app_hook.get                  read  low
  PATCH  /app/hook/config                                                   app_hook.update               write high   url
  GET    /app/hook/deliveries                                               app_hook_delivery.list        read  low
  GET    /app/hook/deliveries/{delivery_id}                                 app_hook_delivery.get         read  low
  POST   /app/hook/deliveries/{delivery_id}/attempts                        app_hook_delivery.redeliver   write medium
  GET    /app/installation-requests                                         app_installation_request.list read  low
  GET    /app/installations                                                 app_installation.list         read  low
  GET    /app/installations/{installation_id}                               app_installation.get          read  low
  DELETE /app/installations/{installation_id}                               app_installation.delete       write high
  POST   /app/installations/{installation_id}/access_tokens                 app_installation.create_token write high
  PUT    /app/installations/{installation_id}/suspended                     app_installation.suspend      write high
  DELETE /app/installations/{installation_id}/suspended                     app_installation.unsuspend    write high
  DELETE /applications/{client_id}/grant                                    oauth_grant.delete            write high
  POST   /applications/{client_id}/token                                    oauth_token.check             read  medium
  PATCH  /applications/{client_id}/token                                    oauth_token.reset             write high
  DELETE /applications/{client_id}/token                                    oauth_token.delete            write high
  POST   /applications/{client_id}/token/scoped                             oauth_token.create_scoped     write high
  GET    /apps/{app_slug}                                                   app.get                       read  low
  POST   /credentials/revoke                                                credential.revoke             write high
  GET    /installation/repositories                                         app_installation.list_repos   read  low
  DELETE /installation/token                                                app_installation.revoke_token write high
  GET    /marketplace_listing/accounts/{account_id}                         marketplace_account.get       read  low
  GET    /marketplace_listing/plans                                         marketplace_plan.list         read  low
  GET    /marketplace_listing/plans/{plan_id}/accounts                      marketplace_account.list      read  low
  GET    /marketplace_listing/stubbed/accounts/{account_id}                 marketplace_account.get       read  low
  GET    /marketplace_listing/stubbed/plans                                 marketplace_plan.list         read  low
  GET    /marketplace_listing/stubbed/plans/{plan_id}/accounts              marketplace_account.list      read  low
  GET    /orgs/{org}/installation                                           app_installation.get_for_org  read  low
  GET    /orgs/{org}/installations                                          app_installation.list         read  low organization_administration:read
  GET    /repos/{owner}/{repo}/installation                                 app_installation.get_for_repo read  low
  GET    /user/installations                                                app_installation.list         read  low
  GET    /user/installations/{installation_id}/repositories                 app_installation.list_repos   read  low
  PUT    /user/installations/{installation_id}/repositories/{repository_id} app_installation.add_repo     write high
  DELETE /user/installations/{installation_id}/repositories/{repository_id} app_installation.remove_repo  write high
  GET    /user/marketplace_purchases                                        marketplace_purchase.list     read  low
  GET    /user/marketplace_purchases/stubbed                                marketplace_purchase.list     read  low
  GET    /users/{username}/installation                                     app_installation.get_for_user read  low
`
