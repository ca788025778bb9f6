/** Catalogue rows for accounts, persons, apps, keys, events and their destinations. */
export const ACCOUNTS = `
  POST   /oauth/deauthorize                                  oauth.deauthorize                         write high   client_id,stripe_user_id
  POST   /oauth/token                                        oauth.create_token                        write high   grant_type
  POST   /v1/account_links                                   account_link.create                       write high   account
  POST   /v1/account_sessions                                account_session.create                    write high   account
  GET    /v1/accounts/{id}/capabilities                      account_capability.list                   read  low
  GET    /v1/accounts/{account_id}/capabilities/{id}         account_capability.get                    read  low
  POST   /v1/accounts/{account_id}/capabilities/{id}         account_capability.update                 write high   requested
  GET    /v1/accounts/{id}/external_accounts                 external_account.list                     read  low
  POST   /v1/accounts/{id}/external_accounts                 external_account.create                   write high
  GET    /v1/accounts/{account_id}/external_accounts/{id}    external_account.get                      read  low
  POST   /v1/accounts/{account_id}/external_accounts/{id}    external_account.update                   write high
  DELETE /v1/accounts/{account_id}/external_accounts/{id}    external_account.delete                   write high
  POST   /v1/accounts/{id}/login_links                       account.create_login_link                 write high
  GET    /v1/accounts/{id}/persons                           account_person.list                       read  low
  POST   /v1/accounts/{id}/persons                           account_person.create                     write high
  GET    /v1/accounts/{account_id}/persons/{id}              account_person.get                        read  low
  POST   /v1/accounts/{account_id}/persons/{id}              account_person.update                     write high
  DELETE /v1/accounts/{account_id}/persons/{id}              account_person.delete                     write high
  POST   /v1/accounts/{id}/reject                            account.reject                            write high   reason
  POST   /v1/accounts/{id}/unreject                          account.unreject                          write high
  GET    /v1/apple_pay/domains                               apple_pay_domain.list                     read  low
  POST   /v1/apple_pay/domains                               apple_pay_domain.create                   write medium
  GET    /v1/apple_pay/domains/{id}                          apple_pay_domain.get                      read  low
  DELETE /v1/apple_pay/domains/{id}                          apple_pay_domain.delete                   write high
  GET    /v1/apps/installs                                   app_install.list                          read  low
  POST   /v1/apps/installs                                   app_install.create                        write high
  GET    /v1/apps/installs/{id}                              app_install.get                           read  low
  POST   /v1/apps/installs/{id}                              app_install.update                        write medium
  POST   /v1/apps/installs/{id}/uninstall                    app_install.uninstall                     write high
  GET    /v1/apps/secrets                                    app_secret.list                           read  low
  POST   /v1/apps/secrets                                    app_secret.set                            write high   name
  POST   /v1/apps/secrets/delete                             app_secret.delete                         write high   name
  GET    /v1/apps/secrets/find                               app_secret.find                           read  low
  GET    /v1/country_specs                                   country_spec.list                         read  low
  GET    /v1/country_specs/{id}                              country_spec.get                          read  low
  POST   /v1/customer_sessions                               customer_session.create                   write high   customer
  POST   /v1/ephemeral_keys                                  ephemeral_key.create                      write high   customer
  DELETE /v1/ephemeral_keys/{id}                             ephemeral_key.delete                      write high
  GET    /v1/file_links                                      file_link.list                            read  low
  POST   /v1/file_links                                      file_link.create                          write high   file
  GET    /v1/file_links/{id}                                 file_link.get                             read  low
  POST   /v1/file_links/{id}                                 file_link.update                          write medium
  GET    /v1/files                                           file.list                                 read  low
  POST   /v1/files                                           file.upload                               write medium @content
  GET    /v1/files/{id}                                      file.get                                  read  low
  GET    /v1/financial_connections/accounts                  financial_connections_account.list        read  low
  GET    /v1/financial_connections/accounts/{id}             financial_connections_account.get         read  low
  POST   /v1/financial_connections/accounts/{id}/disconnect  financial_connections_account.disconnect  write medium
  GET    /v1/financial_connections/accounts/{id}/owners      financial_connections_account.list_owners read  low
  POST   /v1/financial_connections/accounts/{id}/refresh     financial_connections_account.refresh     write medium
  POST   /v1/financial_connections/accounts/{id}/subscribe   financial_connections_account.subscribe   write medium
  POST   /v1/financial_connections/accounts/{id}/unsubscribe financial_connections_account.unsubscribe write medium
  POST   /v1/financial_connections/sessions                  financial_connections_session.create      write medium
  GET    /v1/financial_connections/sessions/{id}             financial_connections_session.get         read  low
  GET    /v1/financial_connections/transactions              financial_connections_transaction.list    read  low
  GET    /v1/financial_connections/transactions/{id}         financial_connections_transaction.get     read  low
  GET    /v1/identity/verification_reports                   verification_report.list                  read  low
  GET    /v1/identity/verification_reports/{id}              verification_report.get                   read  low
  GET    /v1/identity/verification_sessions                  verification_session.list                 read  low
  POST   /v1/identity/verification_sessions                  verification_session.create               write medium
  GET    /v1/identity/verification_sessions/{id}             verification_session.get                  read  low
  POST   /v1/identity/verification_sessions/{id}             verification_session.update               write medium
  POST   /v1/identity/verification_sessions/{id}/cancel      verification_session.cancel               write medium
  POST   /v1/identity/verification_sessions/{id}/redact      verification_session.redact               write high   +irreversible
  GET    /v1/webhook_endpoints                               webhook_endpoint.list                     read  low
  POST   /v1/webhook_endpoints                               webhook_endpoint.create                   write high   url,enabled_events
  GET    /v1/webhook_endpoints/{id}                          webhook_endpoint.get                      read  low
  POST   /v1/webhook_endpoints/{id}                          webhook_endpoint.update                   write high   url,enabled_events,disabled
  DELETE /v1/webhook_endpoints/{id}                          webhook_endpoint.delete                   write high
  POST   /v2/core/account_links                              account_link.create                       write high   @same
  POST   /v2/core/account_tokens                             account_token.create                      write high
  GET    /v2/core/account_tokens/{id}                        account_token.get                         read  low
  GET    /v2/core/accounts                                   account.list                              read  low
  POST   /v2/core/accounts                                   account.create                            write high   @same
  GET    /v2/core/accounts/{id}                              account.get                               read  low
  POST   /v2/core/accounts/{id}                              account.update                            write high   @same
  POST   /v2/core/accounts/{id}/close                        account.close                             write high   +irreversible
  POST   /v2/core/accounts/{account_id}/person_tokens        person_token.create                       write high
  GET    /v2/core/accounts/{account_id}/person_tokens/{id}   person_token.get                          read  low
  GET    /v2/core/accounts/{account_id}/persons              account_person.list                       read  low
  POST   /v2/core/accounts/{account_id}/persons              account_person.create                     write high   @same
  GET    /v2/core/accounts/{account_id}/persons/{id}         account_person.get                        read  low
  POST   /v2/core/accounts/{account_id}/persons/{id}         account_person.update                     write high   @same
  DELETE /v2/core/accounts/{account_id}/persons/{id}         account_person.delete                     write high   @same
  GET    /v2/core/event_destinations                         event_destination.list                    read  low
  POST   /v2/core/event_destinations                         event_destination.create                  write high   type,enabled_events
  GET    /v2/core/event_destinations/{id}                    event_destination.get                     read  low
  POST   /v2/core/event_destinations/{id}                    event_destination.update                  write high   enabled_events
  DELETE /v2/core/event_destinations/{id}                    event_destination.delete                  write high
  POST   /v2/core/event_destinations/{id}/disable            event_destination.disable                 write high
  POST   /v2/core/event_destinations/{id}/enable             event_destination.enable                  write high
  POST   /v2/core/event_destinations/{id}/ping               event_destination.ping                    write low
  GET    /v2/core/events                                     event.list                                read  low
  GET    /v2/core/events/{id}                                event.get                                 read  low
`
