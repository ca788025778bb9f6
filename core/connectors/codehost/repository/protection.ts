/** Catalogue rows for the protection of branches and conversations: protection rules, rulesets, limits. */
export const PROTECTION = `
  GET    /orgs/{org}/interaction-limits                                               org_interaction_limit.get                    read  low
  PUT    /orgs/{org}/interaction-limits                                               org_interaction_limit.set                    write high   limit,expiry
  DELETE /orgs/{org}/interaction-limits                                               org_interaction_limit.remove                 write high
  GET    /orgs/{org}/interaction-limits/pulls/creation-cap                            org_interaction_limit.get_pr_cap             read  low
  PATCH  /orgs/{org}/interaction-limits/pulls/creation-cap                            org_interaction_limit.set_pr_cap             write medium
  GET    /orgs/{org}/properties/schema                                                org_property.list                            read  low
  PATCH  /orgs/{org}/properties/schema                                                org_property.set                             write high   properties
  GET    /orgs/{org}/properties/schema/{custom_property_name}                         org_property.get                             read  low
  PUT    /orgs/{org}/properties/schema/{custom_property_name}                         org_property.set                             write high   value_type,required @same
  DELETE /orgs/{org}/properties/schema/{custom_property_name}                         org_property.delete                          write high
  GET    /orgs/{org}/properties/values                                                org_property_value.list                      read  low
  PATCH  /orgs/{org}/properties/values                                                org_property_value.set                       write high   repository_names,properties
  GET    /orgs/{org}/rulesets                                                         org_ruleset.list                             read  low
  POST   /orgs/{org}/rulesets                                                         org_ruleset.create                           write high   name,enforcement,rules
  GET    /orgs/{org}/rulesets/rule-suites                                             rule_suite.list                              read  low
  GET    /orgs/{org}/rulesets/rule-suites/{rule_suite_id}                             rule_suite.get                               read  low
  GET    /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.get                              read  low
  PUT    /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.update                           write high   enforcement,rules
  DELETE /orgs/{org}/rulesets/{ruleset_id}                                            org_ruleset.delete                           write high
  GET    /orgs/{org}/rulesets/{ruleset_id}/history                                    org_ruleset.list_history                     read  low
  GET    /orgs/{org}/rulesets/{ruleset_id}/history/{version_id}                       org_ruleset.get_version                      read  low
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.get_admin_enforcement      read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.enforce_admins             write high
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/enforce_admins           branch_protection.exempt_admins              write high
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.get_required_reviews       read  low
  PATCH  /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.update_required_reviews    write high   required_approving_review_count,require_code_owner_reviews
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_pull_request_reviews branch_protection.delete_required_reviews    write high
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.get_required_signatures    read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.require_signatures         write high
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_signatures      branch_protection.delete_required_signatures write high
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.get_required_checks        read  low
  PATCH  /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.update_required_checks     write high   strict,checks
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks   branch_protection.delete_required_checks     write high
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.list_required_contexts     read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.add_required_contexts      write high   contexts
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.set_required_contexts      write high   contexts
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/required_status_checks/contexts branch_protection.remove_required_contexts   write high   contexts
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions             branch_restriction.get                       read  low
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions             branch_restriction.delete                    write high
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.list_apps                 read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.add_apps                  write high   apps
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.set_apps                  write high   apps
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/apps        branch_restriction.remove_apps               write high   apps
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.list_teams                read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.add_teams                 write high   teams
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.set_teams                 write high   teams
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/teams       branch_restriction.remove_teams              write high   teams
  GET    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.list_users                read  low
  POST   /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.add_users                 write high   users
  PUT    /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.set_users                 write high   users
  DELETE /repos/{owner}/{repo}/branches/{branch/}/protection/restrictions/users       branch_restriction.remove_users              write high   users
  GET    /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.get                        read  low
  PUT    /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.set                        write high   limit,expiry
  DELETE /repos/{owner}/{repo}/interaction-limits                                     interaction_limit.remove                     write high
  GET    /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.list_pr_bypass             read  low
  PUT    /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.add_pr_bypass              write high   users
  DELETE /repos/{owner}/{repo}/interaction-limits/pulls/bypass-list                   interaction_limit.remove_pr_bypass           write high   users
  GET    /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap                  interaction_limit.get_pr_cap                 read  low
  PATCH  /repos/{owner}/{repo}/interaction-limits/pulls/creation-cap                  interaction_limit.set_pr_cap                 write high
  GET    /repos/{owner}/{repo}/properties/values                                      repo_property_value.list                     read  low
  PATCH  /repos/{owner}/{repo}/properties/values                                      repo_property_value.set                      write high   properties
  GET    /repos/{owner}/{repo}/rulesets                                               ruleset.list                                 read  low
  POST   /repos/{owner}/{repo}/rulesets                                               ruleset.create                               write high   name,enforcement,rules
  GET    /repos/{owner}/{repo}/rulesets/rule-suites                                   rule_suite.list                              read  low
  GET    /repos/{owner}/{repo}/rulesets/rule-suites/{rule_suite_id}                   rule_suite.get                               read  low
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.get                                  read  low
  PUT    /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.update                               write high   enforcement,rules
  DELETE /repos/{owner}/{repo}/rulesets/{ruleset_id}                                  ruleset.delete                               write high
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}/history                          ruleset.list_history                         read  low
  GET    /repos/{owner}/{repo}/rulesets/{ruleset_id}/history/{version_id}             ruleset.get_version                          read  low
  GET    /user/interaction-limits                                                     user_interaction_limit.get                   read  low
  PUT    /user/interaction-limits                                                     user_interaction_limit.set                   write high   limit,expiry
  DELETE /user/interaction-limits                                                     user_interaction_limit.remove                write high
`
