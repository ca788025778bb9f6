/** Catalogue rows for enterprises: their teams, policies and code security. */
export const ENTERPRISE = `
  GET    /enterprises/{enterprise}/actions/cache/retention-limit                      enterprise_actions_cache.get_retention_limit read  low
  PUT    /enterprises/{enterprise}/actions/cache/retention-limit                      enterprise_actions_cache.set_retention_limit write medium
  GET    /enterprises/{enterprise}/actions/cache/storage-limit                        enterprise_actions_cache.get_storage_limit   read  low
  PUT    /enterprises/{enterprise}/actions/cache/storage-limit                        enterprise_actions_cache.set_storage_limit   write medium
  GET    /enterprises/{enterprise}/actions/oidc/customization/properties/repo         enterprise_oidc_property.list                read  low
  POST   /enterprises/{enterprise}/actions/oidc/customization/properties/repo         enterprise_oidc_property.create              write high
  DELETE /enterprises/{enterprise}/actions/oidc/customization/properties/repo/{custom_property_name} enterprise_oidc_property.delete              write high
  GET    /enterprises/{enterprise}/code-security/configurations                       enterprise_code_security_configuration.list  read  low
  POST   /enterprises/{enterprise}/code-security/configurations                       enterprise_code_security_configuration.create write high
  GET    /enterprises/{enterprise}/code-security/configurations/defaults              enterprise_code_security_configuration.list_defaults read  low
  GET    /enterprises/{enterprise}/code-security/configurations/{configuration_id}    enterprise_code_security_configuration.get   read  low
  PATCH  /enterprises/{enterprise}/code-security/configurations/{configuration_id}    enterprise_code_security_configuration.update write high
  DELETE /enterprises/{enterprise}/code-security/configurations/{configuration_id}    enterprise_code_security_configuration.delete write high
  POST   /enterprises/{enterprise}/code-security/configurations/{configuration_id}/attach enterprise_code_security_configuration.attach write high   scope
  PUT    /enterprises/{enterprise}/code-security/configurations/{configuration_id}/defaults enterprise_code_security_configuration.set_default write high
  GET    /enterprises/{enterprise}/code-security/configurations/{configuration_id}/repositories enterprise_code_security_configuration.list_repos read  low
  PUT    /enterprises/{enterprise}/copilot/policies/coding_agent                      enterprise_coding_agent_policy.set           write high   policy_state
  POST   /enterprises/{enterprise}/copilot/policies/coding_agent/organizations        enterprise_coding_agent_policy.add_orgs      write high   organizations
  DELETE /enterprises/{enterprise}/copilot/policies/coding_agent/organizations        enterprise_coding_agent_policy.remove_orgs   write high   organizations
  GET    /enterprises/{enterprise}/dependabot/alerts                                  dependabot_alert.list                        read  low
  GET    /enterprises/{enterprise}/dependabot/repository-access                       enterprise_dependabot_access.get             read  low
  PATCH  /enterprises/{enterprise}/dependabot/repository-access                       enterprise_dependabot_access.update          write high
  PUT    /enterprises/{enterprise}/dependabot/repository-access/default-level         enterprise_dependabot_access.set_default_level write high
  GET    /enterprises/{enterprise}/teams                                              enterprise_team.list                         read  low
  POST   /enterprises/{enterprise}/teams                                              enterprise_team.create                       write high   name
  GET    /enterprises/{enterprise}/teams/{team_slug}                                  enterprise_team.get                          read  low
  PATCH  /enterprises/{enterprise}/teams/{team_slug}                                  enterprise_team.update                       write high   name
  DELETE /enterprises/{enterprise}/teams/{team_slug}                                  enterprise_team.delete                       write high
  GET    /enterprises/{enterprise}/teams/{enterprise_team}/memberships                enterprise_team_member.list                  read  low
  POST   /enterprises/{enterprise}/teams/{enterprise_team}/memberships/add            enterprise_team_member.add                   write high   usernames
  POST   /enterprises/{enterprise}/teams/{enterprise_team}/memberships/remove         enterprise_team_member.remove                write high   usernames
  GET    /enterprises/{enterprise}/teams/{enterprise_team}/memberships/{username}     enterprise_team_member.get                   read  low
  PUT    /enterprises/{enterprise}/teams/{enterprise_team}/memberships/{username}     enterprise_team_member.add                   write high   @same
  DELETE /enterprises/{enterprise}/teams/{enterprise_team}/memberships/{username}     enterprise_team_member.remove                write high   @same
  GET    /enterprises/{enterprise}/teams/{enterprise_team}/organizations              enterprise_team_org.list                     read  low
  POST   /enterprises/{enterprise}/teams/{enterprise_team}/organizations/add          enterprise_team_org.add                      write high   organization_slugs
  POST   /enterprises/{enterprise}/teams/{enterprise_team}/organizations/remove       enterprise_team_org.remove                   write high   organization_slugs
  GET    /enterprises/{enterprise}/teams/{enterprise_team}/organizations/{org}        enterprise_team_org.get                      read  low
  PUT    /enterprises/{enterprise}/teams/{enterprise_team}/organizations/{org}        enterprise_team_org.add                      write high   @same
  DELETE /enterprises/{enterprise}/teams/{enterprise_team}/organizations/{org}        enterprise_team_org.remove                   write high   @same
`
