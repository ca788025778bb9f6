/** Catalogue rows for members, roles, hooks, tokens, billing and settings of an organization. */
export const ORGANIZATION = `
  GET    /organizations/{org}/settings/billing/ai_credit/usage                    org_billing.get_ai_credit_usage       read  low organization_administration:read
  GET    /organizations/{org}/settings/billing/budgets                            org_budget.list                       read  low organization_administration:read
  POST   /organizations/{org}/settings/billing/budgets                            org_budget.create                     write high organization_administration:write
  GET    /organizations/{org}/settings/billing/budgets/{budget_id}                org_budget.get                        read  low organization_administration:read
  PATCH  /organizations/{org}/settings/billing/budgets/{budget_id}                org_budget.update                     write high organization_administration:write
  DELETE /organizations/{org}/settings/billing/budgets/{budget_id}                org_budget.delete                     write high organization_administration:write
  GET    /organizations/{org}/settings/billing/premium_request/usage              org_billing.get_premium_request_usage read  low organization_administration:read
  GET    /organizations/{org}/settings/billing/usage                              org_billing.get_usage                 read  low organization_administration:read
  GET    /organizations/{org}/settings/billing/usage/summary                      org_billing.get_usage_summary         read  low organization_administration:read
  GET    /orgs/{org}/blocks                                                       org_block.list                        read  low organization_user_blocking:read
  GET    /orgs/{org}/blocks/{username}                                            org_block.check                       read  low organization_user_blocking:read
  PUT    /orgs/{org}/blocks/{username}                                            org_block.add                         write medium organization_user_blocking:write
  DELETE /orgs/{org}/blocks/{username}                                            org_block.remove                      write high organization_user_blocking:write
  GET    /orgs/{org}/events                                                       event.list_in_org                     read  low
  GET    /orgs/{org}/failed_invitations                                           org_invitation.list_failed            read  low members:read
  GET    /orgs/{org}/hooks                                                        org_hook.list                         read  low organization_hooks:read
  POST   /orgs/{org}/hooks                                                        org_hook.create                       write high   config,events organization_hooks:write
  GET    /orgs/{org}/hooks/{hook_id}                                              org_hook.get                          read  low organization_hooks:read
  PATCH  /orgs/{org}/hooks/{hook_id}                                              org_hook.update                       write high   config,events organization_hooks:write
  DELETE /orgs/{org}/hooks/{hook_id}                                              org_hook.delete                       write high organization_hooks:write
  GET    /orgs/{org}/hooks/{hook_id}/config                                       org_hook.get_config                   read  low organization_hooks:read
  PATCH  /orgs/{org}/hooks/{hook_id}/config                                       org_hook.update_config                write high   url organization_hooks:write
  GET    /orgs/{org}/hooks/{hook_id}/deliveries                                   org_hook_delivery.list                read  low organization_hooks:read
  GET    /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}                     org_hook_delivery.get                 read  low organization_hooks:read
  POST   /orgs/{org}/hooks/{hook_id}/deliveries/{delivery_id}/attempts            org_hook_delivery.redeliver           write medium organization_hooks:write
  POST   /orgs/{org}/hooks/{hook_id}/pings                                        org_hook.ping                         write low organization_hooks:write
  GET    /orgs/{org}/insights/api/route-stats/{actor_type}/{actor_id}             api_insight.get_route_stats           read  low
  GET    /orgs/{org}/insights/api/subject-stats                                   api_insight.get_subject_stats         read  low
  GET    /orgs/{org}/insights/api/summary-stats                                   api_insight.get_summary_stats         read  low
  GET    /orgs/{org}/insights/api/summary-stats/users/{user_id}                   api_insight.get_summary_stats         read  low
  GET    /orgs/{org}/insights/api/summary-stats/{actor_type}/{actor_id}           api_insight.get_summary_stats         read  low
  GET    /orgs/{org}/insights/api/time-stats                                      api_insight.get_time_stats            read  low
  GET    /orgs/{org}/insights/api/time-stats/users/{user_id}                      api_insight.get_time_stats            read  low
  GET    /orgs/{org}/insights/api/time-stats/{actor_type}/{actor_id}              api_insight.get_time_stats            read  low
  GET    /orgs/{org}/insights/api/user-stats/{user_id}                            api_insight.get_user_stats            read  low
  GET    /orgs/{org}/invitations                                                  org_invitation.list                   read  low members:read
  POST   /orgs/{org}/invitations                                                  org_invitation.create                 write high   email,invitee_id,role,team_ids members:write
  DELETE /orgs/{org}/invitations/{invitation_id}                                  org_invitation.cancel                 write medium members:write
  GET    /orgs/{org}/invitations/{invitation_id}/teams                            org_invitation.list_teams             read  low members:read
  GET    /orgs/{org}/issue-fields                                                 issue_field.list                      read  low
  POST   /orgs/{org}/issue-fields                                                 issue_field.create                    write medium
  PATCH  /orgs/{org}/issue-fields/{issue_field_id}                                issue_field.update                    write medium
  DELETE /orgs/{org}/issue-fields/{issue_field_id}                                issue_field.delete                    write high
  GET    /orgs/{org}/issue-types                                                  issue_type.list                       read  low
  POST   /orgs/{org}/issue-types                                                  issue_type.create                     write medium
  PUT    /orgs/{org}/issue-types/{issue_type_id}                                  issue_type.update                     write medium name,is_enabled
  DELETE /orgs/{org}/issue-types/{issue_type_id}                                  issue_type.delete                     write high
  GET    /orgs/{org}/organization-fine-grained-permissions                        org_role.list_permissions             read  low
  GET    /orgs/{org}/organization-roles                                           org_role.list                         read  low organization_custom_org_roles:read
  DELETE /orgs/{org}/organization-roles/teams/{team_slug}                         org_role.revoke_all_of_team           write high members:write
  PUT    /orgs/{org}/organization-roles/teams/{team_slug}/{role_id}               org_role.assign_team                  write high members:write
  DELETE /orgs/{org}/organization-roles/teams/{team_slug}/{role_id}               org_role.revoke_team                  write high members:write
  DELETE /orgs/{org}/organization-roles/users/{username}                          org_role.revoke_all_of_user           write high members:write
  PUT    /orgs/{org}/organization-roles/users/{username}/{role_id}                org_role.assign_user                  write high members:write
  DELETE /orgs/{org}/organization-roles/users/{username}/{role_id}                org_role.revoke_user                  write high members:write
  GET    /orgs/{org}/organization-roles/{role_id}                                 org_role.get                          read  low organization_custom_org_roles:read
  GET    /orgs/{org}/organization-roles/{role_id}/teams                           org_role.list_teams                   read  low members:read
  GET    /orgs/{org}/organization-roles/{role_id}/users                           org_role.list_users                   read  low members:read
  GET    /orgs/{org}/outside_collaborators                                        outside_collaborator.list             read  low members:read
  PUT    /orgs/{org}/outside_collaborators/{username}                             outside_collaborator.convert          write high members:write
  DELETE /orgs/{org}/outside_collaborators/{username}                             outside_collaborator.remove           write high members:write
  GET    /orgs/{org}/personal-access-token-requests                               token_request.list                    read  low organization_personal_access_token_requests:read
  POST   /orgs/{org}/personal-access-token-requests                               token_request.review                  write high   action,pat_request_ids organization_personal_access_token_requests:write
  POST   /orgs/{org}/personal-access-token-requests/{pat_request_id}              token_request.review                  write high   action @same organization_personal_access_token_requests:write
  GET    /orgs/{org}/personal-access-token-requests/{pat_request_id}/repositories token_request.list_repos              read  low organization_personal_access_token_requests:read
  GET    /orgs/{org}/personal-access-tokens                                       token_grant.list                      read  low organization_personal_access_tokens:read
  POST   /orgs/{org}/personal-access-tokens                                       token_grant.revoke                    write high   action,pat_ids organization_personal_access_tokens:write
  POST   /orgs/{org}/personal-access-tokens/{pat_id}                              token_grant.revoke                    write high   action @same organization_personal_access_tokens:write
  GET    /orgs/{org}/personal-access-tokens/{pat_id}/repositories                 token_grant.list_repos                read  low organization_personal_access_tokens:read
  GET    /orgs/{org}/public_members                                               public_member.list                    read  low members:read
  GET    /orgs/{org}/public_members/{username}                                    public_member.check                   read  low members:read
  PUT    /orgs/{org}/public_members/{username}                                    public_member.publish                 write high
  DELETE /orgs/{org}/public_members/{username}                                    public_member.conceal                 write low
  GET    /orgs/{org}/settings/network-configurations                              network_configuration.list            read  low
  POST   /orgs/{org}/settings/network-configurations                              network_configuration.create          write high
  GET    /orgs/{org}/settings/network-configurations/{network_configuration_id}   network_configuration.get             read  low
  PATCH  /orgs/{org}/settings/network-configurations/{network_configuration_id}   network_configuration.update          write high
  DELETE /orgs/{org}/settings/network-configurations/{network_configuration_id}   network_configuration.delete          write high
  GET    /orgs/{org}/settings/network-settings/{network_settings_id}              network_setting.get                   read  low
  GET    /orgs/{org}/teams/{team_slug}/invitations                                team.list_invitations                 read  low members:read
  GET    /orgs/{org}/teams/{team_slug}/teams                                      team.list_children                    read  low members:read
`
