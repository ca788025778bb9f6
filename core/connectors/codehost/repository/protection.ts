/** Catalogue rows for the protection of branches and conversations: protection rules, rulesets, limits. */
export const PROTECTION = `
  GET    /orgs/{org}/interaction-limits                                               org_interaction_limit.get                    read  low organization_administration:read
  PUT    /orgs/{org}/interaction-limits                                               org_interaction_limit.set                    write high   limit,expiry organization_administration:write
  DELETE /orgs/{org}/interaction-limits                                               org_interaction_limit.remove                 write high organization_administration:write
  GET    /orgs/{org}/interaction-limits/pulls/creation-cap                            org_interaction_limit.get_pr_cap             read  low
  PATCH  /orgs/{org}/interaction-limits/pulls/creation-cap                            org_interaction_limit.set_pr_cap             write medium
  GET    /orgs/{org}/properties/schema                                                org_property.list                            read  low organization_custom_properties:read
  PATCH  /orgs/{org}/properties/schema                                                org_property.set                             write high   properties organization_custom_properties:admin
  GET    /orgs/{org}/properties/schema/{custom_property_name}                         org_property.get                             read  low organization_custom_properties:read
  PUT    /orgs/{org}/properties/schema/{custom_property_name}                         org_property.set                             write high   value_type,required @same organization_custom_properties:admin
  DELETE /orgs/{org}/properties/schema/{custom_property_name}                         org_property.delete                          write high organization_custom_properties:admin
  GET    /orgs/{org}/properties/values                                                org_property_value.list                      read  low organization_custom_properties:read
  PATCH  /orgs/{org}/properties/values                                                org_property_value.set                       write high   repository_names,properties organization_custom_properties:write
  GET    /orgs/{org}/rulesets                                                         org_ruleset.list                             read  low organization_administration:write
  POST   /orgs/{org}/rulesets                                                         org_ruleset.create                           write high   name,enforcement,rules organization_administration:write
  GET    /orgs/{org}/rulesets/rule-suites                                             rule_suite.list                              read  low organization_administration:write
  GET    /orgs/{org}/rulesets/rule-suites/{rule_suite_id}                             rule_suite.get                               read  low organization_administration:write
  GET    /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.get                              read  low organization_administration:write
  PUT    /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.update                           write high   enforcement,rules organization_administration:write
  DELETE /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.delete                           write high organization_administration:write
  GET    /orgs/{org}/rulesets/{ruleset_id}/history                                    org_ruleset.list_history                     read  low organization_administration:write
  GET    /orgs/{org}/rulesets/{ruleset_id}/history/{version_id}                       org_ruleset.get_version                      read  low organization_administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.get_admin_enforcement      read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.enforce_admins             write high administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.exempt_admins              write high administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.get_required_reviews       read  low administration:read
  PATCH  /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.update_required_reviews    write high   required_approving_review_count,require_code_owner_reviews administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.delete_required_reviews    write high administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.get_required_signatures    read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.require_signatures         write high administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.delete_required_signatures write high administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.get_required_checks        read  low administration:read
  PATCH  /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.update_required_checks     write high   strict,checks administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.delete_required_checks     write high administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.list_required_contexts     read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.add_required_contexts      write high   contexts administration:write
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.set_required_contexts      write high   contexts administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.remove_required_contexts   write high   contexts administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions             branch_restriction.get                       read  low administration:read
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions             branch_restriction.delete                    write high administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.list_apps                 read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.add_apps                  write high   apps administration:write
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.set_apps                  write high   apps administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.remove_apps               write high   apps administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.list_teams                read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.add_teams                 write high   teams administration:write
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.set_teams                 write high   teams administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.remove_teams              write high   teams administration:write
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.list_users                read  low administration:read
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.add_users                 write high   users administration:write
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.set_users                 write high   users administration:write
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.remove_users              write high   users administration:write
  GET    /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.get                        read  low administration:read
  PUT    /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.set                        write high   limit,expiry administration:write
  DELETE /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.remove                     write high administration:write
  GET    /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.list_pr_bypass             read  low administration:write
  PUT    /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.add_pr_bypass              write high   users administration:write
  DELETE /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.remove_pr_bypass           write high   users administration:write
  GET    /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap                  interaction_limit.get_pr_cap                 read  low administration:write
  PATCH  /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap                  interaction_limit.set_pr_cap                 write high administration:write
  GET    /repos/{owner}/{repo}/properties/values                                      repo_property_value.list                     read  low metadata:read
  PATCH  /repos/{owner}/{repo}/properties/values                                      repo_property_value.set                      write high   properties repository_custom_properties:write
  GET    /repos/{owner}/{repo}/rulesets                                               ruleset.list                                 read  low metadata:read
  POST   /repos/{owner}/{repo}/rulesets                                               ruleset.create                               write high   name,enforcement,rules administration:write
  GET    /repos/{owner}/{repo}/rulesets/rule-suites                                   rule_suite.list                              read  low administration:read
  GET    /repos/{owner}/{repo}/rulesets/rule-suites/{rule_suite_id}                   rule_suite.get                               read  low administration:read
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.get                                  read  low metadata:read
  PUT    /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.update                               write high   enforcement,rules administration:write
  DELETE /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.delete                               write high administration:write
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}/history                          ruleset.list_history                         read  low administration:write
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}/history/{version_id}             ruleset.get_version                          read  low administration:write
  GET    /user/interaction-limits                                                     user_interaction_limit.get                   read  low
  PUT    /user/interaction-limits                                                     user_interaction_limit.set                   write high   limit,expiry
  DELETE /user/interaction-limits                                                     user_interaction_limit.remove                write high
`
