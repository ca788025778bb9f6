/** Catalogue rows of llm_a: roles and permissions of the organization, its API keys, limits, usage. */
export const LLM_A_ORGANIZATION = `
  GET    /v1/organization/admin_api_keys                                            admin_api_key.list                      read  low
  POST   /v1/organization/admin_api_keys                                            admin_api_key.create                    write high
  GET    /v1/organization/admin_api_keys/{key_id}                                   admin_api_key.get                       read  low
  DELETE /v1/organization/admin_api_keys/{key_id}                                   admin_api_key.delete                    write high
  GET    /v1/organization/audit_logs                                                audit_log.list                          read  low
  GET    /v1/organization/certificates                                              org_certificate.list                    read  low
  POST   /v1/organization/certificates                                              org_certificate.create                  write high
  GET    /v1/organization/certificates/activate                                     org_certificate.activate                write high   certificate_ids @same
  POST   /v1/organization/certificates/activate                                     org_certificate.activate                write high   certificate_ids
  GET    /v1/organization/certificates/deactivate                                   org_certificate.deactivate              write high   certificate_ids @same
  POST   /v1/organization/certificates/deactivate                                   org_certificate.deactivate              write high   certificate_ids
  GET    /v1/organization/certificates/{certificate_id}                             org_certificate.get                     read  low
  POST   /v1/organization/certificates/{certificate_id}                             org_certificate.update                  write high
  DELETE /v1/organization/certificates/{certificate_id}                             org_certificate.delete                  write high
  GET    /v1/organization/costs                                                     org_cost.get                            read  low
  GET    /v1/organization/data_retention                                            org_data_retention.get                  read  low
  POST   /v1/organization/data_retention                                            org_data_retention.set                  write high   retention_type
  GET    /v1/organization/groups                                                    org_group.list                          read  low
  POST   /v1/organization/groups                                                    org_group.create                        write high   name
  GET    /v1/organization/groups/{group_id}                                         org_group.get                           read  low
  POST   /v1/organization/groups/{group_id}                                         org_group.update                        write high   name
  DELETE /v1/organization/groups/{group_id}                                         org_group.delete                        write high
  GET    /v1/organization/groups/{group_id}/roles                                   group_role.list                         read  low
  POST   /v1/organization/groups/{group_id}/roles                                   group_role.assign                       write high   role_id
  GET    /v1/organization/groups/{group_id}/roles/{role_id}                         group_role.get                          read  low
  DELETE /v1/organization/groups/{group_id}/roles/{role_id}                         group_role.unassign                     write high
  GET    /v1/organization/groups/{group_id}/users                                   group_user.list                         read  low
  POST   /v1/organization/groups/{group_id}/users                                   group_user.add                          write high   user_id
  GET    /v1/organization/groups/{group_id}/users/{user_id}                         group_user.get                          read  low
  DELETE /v1/organization/groups/{group_id}/users/{user_id}                         group_user.remove                       write high
  GET    /v1/organization/invites                                                   org_invite.list                         read  low
  POST   /v1/organization/invites                                                   org_invite.create                       write high   email,role
  GET    /v1/organization/invites/{invite_id}                                       org_invite.get                          read  low
  DELETE /v1/organization/invites/{invite_id}                                       org_invite.delete                       write high
  GET    /v1/organization/projects                                                  project.list                            read  low
  POST   /v1/organization/projects                                                  project.create                          write medium name
  GET    /v1/organization/projects/{project_id}                                     project.get                             read  low
  POST   /v1/organization/projects/{project_id}                                     project.update                          write medium name
  GET    /v1/organization/projects/{project_id}/api_keys                            project_api_key.list                    read  low
  POST   /v1/organization/projects/{id}/api_keys                                    project_api_key.create                  write high   name
  GET    /v1/organization/projects/{project_id}/api_keys/{api_key_id}               project_api_key.get                     read  low
  DELETE /v1/organization/projects/{project_id}/api_keys/{api_key_id}               project_api_key.delete                  write high
  POST   /v1/organization/projects/{project_id}/archive                             project.archive                         write high
  GET    /v1/organization/projects/{project_id}/certificates                        project_certificate.list                read  low
  GET    /v1/organization/projects/{project_id}/certificates/activate               project_certificate.activate            write high   certificate_ids @same
  POST   /v1/organization/projects/{id}/certificates/activate                       project_certificate.activate            write high   certificate_ids
  GET    /v1/organization/projects/{project_id}/certificates/deactivate             project_certificate.deactivate          write high   certificate_ids @same
  POST   /v1/organization/projects/{id}/certificates/deactivate                     project_certificate.deactivate          write high   certificate_ids
  GET    /v1/organization/projects/{project_id}/data_retention                      project_data_retention.get              read  low
  POST   /v1/organization/projects/{project_id}/data_retention                      project_data_retention.set              write high   retention_type
  GET    /v1/organization/projects/{project_id}/groups                              project_group.list                      read  low
  POST   /v1/organization/projects/{project_id}/groups                              project_group.add                       write high   group_id,role
  GET    /v1/organization/projects/{project_id}/groups/{group_id}                   project_group.get                       read  low
  DELETE /v1/organization/projects/{project_id}/groups/{group_id}                   project_group.remove                    write high
  GET    /v1/organization/projects/{project_id}/hosted_tool_permissions             project_tool_permission.get             read  low
  POST   /v1/organization/projects/{project_id}/hosted_tool_permissions             project_tool_permission.set             write high
  GET    /v1/organization/projects/{project_id}/model_permissions                   project_model_permission.get            read  low
  POST   /v1/organization/projects/{project_id}/model_permissions                   project_model_permission.set            write high   model_ids,mode
  DELETE /v1/organization/projects/{project_id}/model_permissions                   project_model_permission.delete         write high
  GET    /v1/organization/projects/{project_id}/rate_limits                         project_rate_limit.list                 read  low
  POST   /v1/organization/projects/{project_id}/rate_limits/{rate_limit_id}         project_rate_limit.update               write high
  GET    /v1/organization/projects/{project_id}/service_accounts                    service_account.list                    read  low
  POST   /v1/organization/projects/{project_id}/service_accounts                    service_account.create                  write high
  GET    /v1/organization/projects/{project_id}/service_accounts/{service_account_id} service_account.get                     read  low
  POST   /v1/organization/projects/{project_id}/service_accounts/{service_account_id} service_account.update                  write high
  DELETE /v1/organization/projects/{project_id}/service_accounts/{service_account_id} service_account.delete                  write high
  POST   /v1/organization/projects/{project_id}/service_accounts/{service_account_id}/api_keys service_account.create_api_key          write high
  GET    /v1/organization/projects/{project_id}/spend_alerts                        project_spend_alert.list                read  low
  POST   /v1/organization/projects/{project_id}/spend_alerts                        project_spend_alert.create              write high
  GET    /v1/organization/projects/{project_id}/spend_alerts/{alert_id}             project_spend_alert.get                 read  low
  POST   /v1/organization/projects/{project_id}/spend_alerts/{alert_id}             project_spend_alert.update              write high
  DELETE /v1/organization/projects/{project_id}/spend_alerts/{alert_id}             project_spend_alert.delete              write high
  GET    /v1/organization/projects/{project_id}/spend_limit                         project_spend_limit.get                 read  low
  POST   /v1/organization/projects/{project_id}/spend_limit                         project_spend_limit.set                 write high   amount,currency +financial_impact
  DELETE /v1/organization/projects/{project_id}/spend_limit                         project_spend_limit.delete              write high   +financial_impact
  GET    /v1/organization/projects/{project_id}/users                               project_user.list                       read  low
  POST   /v1/organization/projects/{project_id}/users                               project_user.add                        write high   user_id,role
  GET    /v1/organization/projects/{project_id}/users/{user_id}                     project_user.get                        read  low
  POST   /v1/organization/projects/{project_id}/users/{user_id}                     project_user.update                     write high   role
  DELETE /v1/organization/projects/{project_id}/users/{user_id}                     project_user.remove                     write high
  GET    /v1/organization/roles                                                     org_role.list                           read  low
  POST   /v1/organization/roles                                                     org_role.create                         write high
  GET    /v1/organization/roles/{role_id}                                           org_role.get                            read  low
  POST   /v1/organization/roles/{role_id}                                           org_role.update                         write high
  DELETE /v1/organization/roles/{role_id}                                           org_role.delete                         write high
  GET    /v1/organization/spend_alerts                                              org_spend_alert.list                    read  low
  POST   /v1/organization/spend_alerts                                              org_spend_alert.create                  write high
  GET    /v1/organization/spend_alerts/{alert_id}                                   org_spend_alert.get                     read  low
  POST   /v1/organization/spend_alerts/{alert_id}                                   org_spend_alert.update                  write high
  DELETE /v1/organization/spend_alerts/{alert_id}                                   org_spend_alert.delete                  write high
  GET    /v1/organization/spend_limit                                               org_spend_limit.get                     read  low
  POST   /v1/organization/spend_limit                                               org_spend_limit.set                     write high   amount,currency +financial_impact
  DELETE /v1/organization/spend_limit                                               org_spend_limit.delete                  write high   +financial_impact
  GET    /v1/organization/usage/audio_speeches                                      org_usage.get_audio_speeches            read  low
  GET    /v1/organization/usage/audio_transcriptions                                org_usage.get_audio_transcriptions      read  low
  GET    /v1/organization/usage/code_interpreter_sessions                           org_usage.get_code_interpreter_sessions read  low
  GET    /v1/organization/usage/completions                                         org_usage.get_completions               read  low
  GET    /v1/organization/usage/decisions                                           org_usage.get_decisions                 read  low
  GET    /v1/organization/usage/embeddings                                          org_usage.get_embeddings                read  low
  GET    /v1/organization/usage/file_search_calls                                   org_usage.get_file_search_calls         read  low
  GET    /v1/organization/usage/images                                              org_usage.get_images                    read  low
  GET    /v1/organization/usage/moderations                                         org_usage.get_moderations               read  low
  GET    /v1/organization/usage/vector_stores                                       org_usage.get_vector_stores             read  low
  GET    /v1/organization/usage/web_search_calls                                    org_usage.get_web_search_calls          read  low
  GET    /v1/organization/users                                                     org_user.list                           read  low
  GET    /v1/organization/users/{user_id}                                           org_user.get                            read  low
  POST   /v1/organization/users/{user_id}                                           org_user.update                         write high   role
  DELETE /v1/organization/users/{user_id}                                           org_user.remove                         write high
  GET    /v1/organization/users/{user_id}/roles                                     user_role.list                          read  low
  POST   /v1/organization/users/{user_id}/roles                                     user_role.assign                        write high   role_id
  GET    /v1/organization/users/{user_id}/roles/{role_id}                           user_role.get                           read  low
  DELETE /v1/organization/users/{user_id}/roles/{role_id}                           user_role.unassign                      write high
  GET    /v1/projects/{project_id}/groups/{group_id}/roles                          project_group_role.list                 read  low
  POST   /v1/projects/{project_id}/groups/{group_id}/roles                          project_group_role.assign               write high   role_id
  GET    /v1/projects/{project_id}/groups/{group_id}/roles/{role_id}                project_group_role.get                  read  low
  DELETE /v1/projects/{project_id}/groups/{group_id}/roles/{role_id}                project_group_role.unassign             write high
  GET    /v1/projects/{project_id}/roles                                            project_role.list                       read  low
  POST   /v1/projects/{project_id}/roles                                            project_role.create                     write high
  GET    /v1/projects/{project_id}/roles/{role_id}                                  project_role.get                        read  low
  POST   /v1/projects/{project_id}/roles/{role_id}                                  project_role.update                     write high
  DELETE /v1/projects/{project_id}/roles/{role_id}                                  project_role.delete                     write high
  GET    /v1/projects/{project_id}/users/{user_id}/roles                            project_user_role.list                  read  low
  POST   /v1/projects/{project_id}/users/{user_id}/roles                            project_user_role.assign                write high   role_id
  GET    /v1/projects/{project_id}/users/{user_id}/roles/{role_id}                  project_user_role.get                   read  low
  DELETE /v1/projects/{project_id}/users/{user_id}/roles/{role_id}                  project_user_role.unassign              write high
`
