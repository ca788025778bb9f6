/** Catalogue rows of llm_b: roles and permissions of the organization, its API keys, limits, plugins, analytics. */
export const LLM_B_ORGANIZATION = `
  GET    /v1/organizations/analytics/apps/chat/projects                             analytics.list_chat_projects           read  low
  GET    /v1/organizations/analytics/artifacts                                      analytics.list_artifacts               read  low
  GET    /v1/organizations/analytics/connectors                                     analytics.list_connectors              read  low
  GET    /v1/organizations/analytics/cost                                           analytics.get_cost                     read  low
  GET    /v1/organizations/analytics/cost_report                                    analytics.get_cost_report              read  low
  GET    /v1/organizations/analytics/plugins                                        analytics.list_plugins                 read  low
  GET    /v1/organizations/analytics/skills                                         analytics.list_skills                  read  low
  GET    /v1/organizations/analytics/summaries                                      analytics.list_summaries               read  low
  GET    /v1/organizations/analytics/usage                                          analytics.get_usage                    read  low
  GET    /v1/organizations/analytics/usage_report                                   analytics.get_usage_report             read  low
  GET    /v1/organizations/analytics/user_cost_report                               analytics.get_user_cost_report         read  low
  GET    /v1/organizations/analytics/user_usage_report                              analytics.get_user_usage_report        read  low
  GET    /v1/organizations/analytics/users                                          analytics.list_users                   read  low
  GET    /v1/organizations/api_keys                                                 api_key.list                           read  low
  GET    /v1/organizations/api_keys/{id}                                            api_key.get                            read  low
  POST   /v1/organizations/api_keys/{id}                                            api_key.update                         write high   status,name
  GET    /v1/organizations/claude_code/managed_settings/configuration               managed_setting.get                    read  low
  POST   /v1/organizations/claude_code/managed_settings/configuration               managed_setting.set                    write high
  GET    /v1/organizations/claude_code/managed_settings/rbac_group_default          managed_setting_group.get_default      read  low
  POST   /v1/organizations/claude_code/managed_settings/rbac_group_default          managed_setting_group.set_default      write high
  GET    /v1/organizations/claude_code/managed_settings/rbac_groups                 managed_setting_group.list             read  low
  GET    /v1/organizations/claude_code/managed_settings/rbac_groups/{rbac_group_id} managed_setting_group.get              read  low
  POST   /v1/organizations/claude_code/managed_settings/rbac_groups/{rbac_group_id} managed_setting_group.set              write high
  DELETE /v1/organizations/claude_code/managed_settings/rbac_groups/{rbac_group_id} managed_setting_group.delete           write high
  GET    /v1/organizations/claude_tag/bundles                                       tag_bundle.list                        read  low
  GET    /v1/organizations/claude_tag/bundles/{bundle_id}                           tag_bundle.get                         read  low
  POST   /v1/organizations/claude_tag/bundles/{bundle_id}                           tag_bundle.update                      write high
  GET    /v1/organizations/claude_tag/bundles/{bundle_id}/targets                   tag_bundle_target.list                 read  low
  POST   /v1/organizations/claude_tag/bundles/{bundle_id}/targets                   tag_bundle_target.add                  write high
  GET    /v1/organizations/claude_tag/bundles/{bundle_id}/targets/{target_id}       tag_bundle_target.get                  read  low
  DELETE /v1/organizations/claude_tag/bundles/{bundle_id}/targets/{target_id}       tag_bundle_target.remove               write high
  GET    /v1/organizations/claude_tag/slack_channels                                tag_channel.list                       read  low
  POST   /v1/organizations/claude_tag/slack_channels                                tag_channel.add                        write high
  GET    /v1/organizations/claude_tag/slack_channels/{id}                           tag_channel.get                        read  low
  POST   /v1/organizations/claude_tag/slack_channels/{id}                           tag_channel.update                     write high
  DELETE /v1/organizations/claude_tag/slack_channels/{id}                           tag_channel.remove                     write high
  GET    /v1/organizations/claude_tag/slack_workspaces                              tag_workspace.list                     read  low
  GET    /v1/organizations/claude_tag/slack_workspaces/{id}                         tag_workspace.get                      read  low
  POST   /v1/organizations/claude_tag/slack_workspaces/{id}                         tag_workspace.update                   write high
  GET    /v1/organizations/cost_report                                              analytics.get_cost_report              read  low
  GET    /v1/organizations/compliance_settings                                             compliance_setting.get                 read  low
  POST   /v1/organizations/compliance_settings                                             compliance_setting.update              write high
  GET    /v1/organizations/external_keys                                            external_key.list                      read  low
  POST   /v1/organizations/external_keys                                                   external_key.create                    write high
  GET    /v1/organizations/external_keys/{external_key_id}                                 external_key.get                       read  low
  POST   /v1/organizations/external_keys/{external_key_id}                                 external_key.update                    write high
  DELETE /v1/organizations/external_keys/{external_key_id}                                 external_key.delete                    write high
  POST   /v1/organizations/external_keys/{external_key_id}/validate                        external_key.validate                  write low
  GET    /v1/organizations/federation_issuers                                       federation_issuer.list                 read  low
  POST   /v1/organizations/federation_issuers                                       federation_issuer.create               write high
  GET    /v1/organizations/federation_issuers/{federation_issuer_id}                federation_issuer.get                  read  low
  POST   /v1/organizations/federation_issuers/{federation_issuer_id}                federation_issuer.update               write high
  POST   /v1/organizations/federation_issuers/{federation_issuer_id}/archive        federation_issuer.archive              write high
  GET    /v1/organizations/federation_rules                                         federation_rule.list                   read  low
  POST   /v1/organizations/federation_rules                                         federation_rule.create                 write high
  GET    /v1/organizations/federation_rules/{federation_rule_id}                    federation_rule.get                    read  low
  POST   /v1/organizations/federation_rules/{federation_rule_id}                    federation_rule.update                 write high
  POST   /v1/organizations/federation_rules/{federation_rule_id}/archive            federation_rule.archive                write high
  GET    /v1/organizations/federation_rules/{federation_rule_id}/workspaces         federation_rule.list_workspaces        read  low
  POST   /v1/organizations/federation_rules/{federation_rule_id}/workspaces         federation_rule.add_workspace          write high   workspace_id
  DELETE /v1/organizations/federation_rules/{federation_rule_id}/workspaces/{workspace_id} federation_rule.remove_workspace       write high
  GET    /v1/organizations/invites                                                  org_invite.list                        read  low
  POST   /v1/organizations/invites                                                  org_invite.create                      write high   email,role
  GET    /v1/organizations/invites/{id}                                             org_invite.get                         read  low
  DELETE /v1/organizations/invites/{id}                                             org_invite.delete                      write high
  GET    /v1/organizations/me                                                       org.get                                read  low
  GET    /v1/organizations/plugin_marketplaces                                      plugin_marketplace.list                read  low
  POST   /v1/organizations/plugin_marketplaces/validate_archive                     plugin_marketplace.validate            read  low @opaque
  POST   /v1/organizations/plugin_marketplaces/validate_repository                  plugin_marketplace.validate            read  low
  GET    /v1/organizations/plugin_marketplaces/{marketplace_id}                     plugin_marketplace.get                 read  low
  POST   /v1/organizations/plugin_marketplaces/{marketplace_id}                     plugin_marketplace.update              write high
  GET    /v1/organizations/plugins                                                  plugin.list                            read  low
  POST   /v1/organizations/plugins                                                  plugin.create                          write high @opaque
  GET    /v1/organizations/plugins/{plugin_id}                                      plugin.get                             read  low
  POST   /v1/organizations/plugins/{plugin_id}                                      plugin.update                          write high
  DELETE /v1/organizations/plugins/{plugin_id}                                      plugin.delete                          write high
  GET    /v1/organizations/plugins/{plugin_id}/installation_settings                plugin.list_installation_settings      read  low
  POST   /v1/organizations/plugins/{plugin_id}/installation_settings/{target}       plugin.set_installation                write high
  DELETE /v1/organizations/plugins/{plugin_id}/installation_settings/{target}       plugin.reset_installation              write high
  GET    /v1/organizations/plugins/{plugin_id}/shares                               plugin.list_shares                     read  low
  GET    /v1/organizations/plugins/{plugin_id}/versions                             plugin_version.list                    read  low
  POST   /v1/organizations/plugins/{plugin_id}/versions                             plugin_version.create                  write high @opaque
  GET    /v1/organizations/plugins/{plugin_id}/versions/{version}                   plugin_version.get                     read  low
  GET    /v1/organizations/plugins/{plugin_id}/versions/{version}/content           plugin_version.download                read  low
  GET    /v1/organizations/rate_limits                                              rate_limit.list                        read  low
  GET    /v1/organizations/rbac_groups                                              rbac_group.list                        read  low
  POST   /v1/organizations/rbac_groups                                                     rbac_group.create                      write high   name
  GET    /v1/organizations/rbac_groups/{rbac_group_id}                                     rbac_group.get                         read  low
  POST   /v1/organizations/rbac_groups/{rbac_group_id}                                     rbac_group.update                      write high   name
  DELETE /v1/organizations/rbac_groups/{rbac_group_id}                                     rbac_group.delete                      write high
  GET    /v1/organizations/rbac_groups/{rbac_group_id}/members                      rbac_group_member.list                 read  low
  POST   /v1/organizations/rbac_groups/{rbac_group_id}/members                             rbac_group_member.add                  write high   user_id
  DELETE /v1/organizations/rbac_groups/{rbac_group_id}/members/{user_id}                   rbac_group_member.remove               write high
  GET    /v1/organizations/rbac_roles                                               rbac_role.list                         read  low
  GET    /v1/organizations/rbac_roles/{rbac_role_id}                                       rbac_role.get                          read  low
  GET    /v1/organizations/rbac_roles/{rbac_role_id}/permissions                    rbac_role_permission.list              read  low
  GET    /v1/organizations/service_accounts                                         service_account.list                   read  low
  POST   /v1/organizations/service_accounts                                         service_account.create                 write high   name
  GET    /v1/organizations/service_accounts/{service_account_id}                    service_account.get                    read  low
  POST   /v1/organizations/service_accounts/{service_account_id}                    service_account.update                 write high
  POST   /v1/organizations/service_accounts/{service_account_id}/archive            service_account.archive                write high
  GET    /v1/organizations/service_accounts/{service_account_id}/workspaces         service_account.list_workspaces        read  low
  POST   /v1/organizations/service_accounts/{service_account_id}/workspaces         service_account.add_workspace          write high   workspace_id
  DELETE /v1/organizations/service_accounts/{service_account_id}/workspaces/{workspace_id} service_account.remove_workspace       write high
  GET    /v1/organizations/spend_limit_increase_requests                            spend_limit_request.list               read  low
  GET    /v1/organizations/spend_limit_increase_requests/{request_id}                      spend_limit_request.get                read  low
  POST   /v1/organizations/spend_limit_increase_requests/{request_id}/approve              spend_limit_request.approve            write high   +financial_impact
  POST   /v1/organizations/spend_limit_increase_requests/{request_id}/deny                 spend_limit_request.deny               write medium
  GET    /v1/organizations/spend_limits                                             spend_limit.list                       read  low
  POST   /v1/organizations/spend_limits                                             spend_limit.set                        write high   amount +financial_impact
  GET    /v1/organizations/spend_limits/effective                                   spend_limit.get_effective              read  low
  GET    /v1/organizations/spend_limits/{spend_limit_id}                                   spend_limit.get                        read  low
  DELETE /v1/organizations/spend_limits/{spend_limit_id}                                   spend_limit.delete                     write high   +financial_impact
  GET    /v1/organizations/telemetry_destinations                                   telemetry_destination.list             read  low
  POST   /v1/organizations/telemetry_destinations                                   telemetry_destination.create           write high
  GET    /v1/organizations/telemetry_destinations/{destination_id}                  telemetry_destination.get              read  low
  POST   /v1/organizations/telemetry_destinations/{destination_id}                  telemetry_destination.update           write high
  DELETE /v1/organizations/telemetry_destinations/{destination_id}                  telemetry_destination.delete           write high
  POST   /v1/organizations/telemetry_destinations/{destination_id}/test             telemetry_destination.test             write low
  GET    /v1/organizations/telemetry_destinations/{destination_id}/workspaces       telemetry_destination.list_workspaces  read  low
  POST   /v1/organizations/telemetry_destinations/{destination_id}/workspaces/{workspace_id} telemetry_destination.add_workspace    write high
  DELETE /v1/organizations/telemetry_destinations/{destination_id}/workspaces/{workspace_id} telemetry_destination.remove_workspace write high
  GET    /v1/organizations/usage_report/claude_code                                 analytics.get_code_usage               read  low
  GET    /v1/organizations/usage_report/messages                                    analytics.get_message_usage            read  low
  GET    /v1/organizations/users                                                    org_user.list                          read  low
  GET    /v1/organizations/users/{id}                                               org_user.get                           read  low
  POST   /v1/organizations/users/{id}                                               org_user.update                        write high   role
  DELETE /v1/organizations/users/{id}                                               org_user.remove                        write high
  POST   /v1/organizations/users/{user_id}/sign_out                                 org_user.sign_out                      write high
  GET    /v1/organizations/webhooks                                                 webhook_endpoint.list                  read  low
  POST   /v1/organizations/webhooks                                                 webhook_endpoint.create                write high   url
  GET    /v1/organizations/webhooks/{webhook_endpoint_id}                           webhook_endpoint.get                   read  low
  POST   /v1/organizations/webhooks/{webhook_endpoint_id}                           webhook_endpoint.update                write high   url
  DELETE /v1/organizations/webhooks/{webhook_endpoint_id}                           webhook_endpoint.delete                write high
  POST   /v1/organizations/webhooks/{webhook_endpoint_id}/regenerate_signing_secret webhook_endpoint.rotate_secret         write high
  GET    /v1/organizations/workspaces                                               workspace.list                         read  low
  POST   /v1/organizations/workspaces                                               workspace.create                       write medium name
  GET    /v1/organizations/workspaces/{id}                                          workspace.get                          read  low
  POST   /v1/organizations/workspaces/{id}                                          workspace.update                       write medium name
  POST   /v1/organizations/workspaces/{id}/archive                                  workspace.archive                      write high   +irreversible
  GET    /v1/organizations/workspaces/{workspace_id}/members                        workspace_member.list                  read  low
  POST   /v1/organizations/workspaces/{id}/members                                  workspace_member.add                   write high   user_id,workspace_role
  GET    /v1/organizations/workspaces/{id}/members/{user_id}                        workspace_member.get                   read  low
  POST   /v1/organizations/workspaces/{id}/members/{user_id}                        workspace_member.update                write high   workspace_role
  DELETE /v1/organizations/workspaces/{id}/members/{user_id}                        workspace_member.remove                write high
  GET    /v1/organizations/workspaces/{workspace_id}/rate_limits                    workspace.list_rate_limits             read  low
  POST   /v1/organizations/workspaces/{workspace_id}/rate_limits/{rate_limit_id}           workspace.update_rate_limit            write high
  GET    /v1/organizations/workspaces/{workspace_id}/service_accounts               workspace_service_account.list         read  low
  POST   /v1/organizations/workspaces/{workspace_id}/service_accounts               workspace_service_account.add          write high
  GET    /v1/organizations/workspaces/{workspace_id}/service_accounts/{service_account_id} workspace_service_account.get          read  low
  POST   /v1/organizations/workspaces/{workspace_id}/service_accounts/{service_account_id} workspace_service_account.update       write high
  DELETE /v1/organizations/workspaces/{workspace_id}/service_accounts/{service_account_id} workspace_service_account.remove       write high
`
