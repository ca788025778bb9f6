/** Catalogue rows for secrets and variables of an organization: for workflows, agents, codespaces and updates. */
export const ORG_SECRETS = `
  GET    /orgs/{org}/actions/secrets                                               org_actions_secret.list              read  low organization_secrets:read
  GET    /orgs/{org}/actions/secrets/public-key                                    org_actions_secret.get_public_key    read  low organization_secrets:read
  GET    /orgs/{org}/actions/secrets/{secret_name}                                 org_actions_secret.get               read  low organization_secrets:read
  PUT    /orgs/{org}/actions/secrets/{secret_name}                                 org_actions_secret.set               write high   visibility,selected_repository_ids organization_secrets:write
  DELETE /orgs/{org}/actions/secrets/{secret_name}                                 org_actions_secret.delete            write high organization_secrets:write
  GET    /orgs/{org}/actions/secrets/{secret_name}/repositories                    org_actions_secret.list_repos        read  low organization_secrets:read
  PUT    /orgs/{org}/actions/secrets/{secret_name}/repositories                    org_actions_secret.set_repos         write high organization_secrets:write
  PUT    /orgs/{org}/actions/secrets/{secret_name}/repositories/{repository_id}    org_actions_secret.add_repo          write high organization_secrets:write
  DELETE /orgs/{org}/actions/secrets/{secret_name}/repositories/{repository_id}    org_actions_secret.remove_repo       write high organization_secrets:write
  GET    /orgs/{org}/actions/variables                                             org_actions_variable.list            read  low
  POST   /orgs/{org}/actions/variables                                             org_actions_variable.create          write medium name
  GET    /orgs/{org}/actions/variables/{name}                                      org_actions_variable.get             read  low
  PATCH  /orgs/{org}/actions/variables/{name}                                      org_actions_variable.update          write medium
  DELETE /orgs/{org}/actions/variables/{name}                                      org_actions_variable.delete          write high
  GET    /orgs/{org}/actions/variables/{name}/repositories                         org_actions_variable.list_repos      read  low
  PUT    /orgs/{org}/actions/variables/{name}/repositories                         org_actions_variable.set_repos       write medium
  PUT    /orgs/{org}/actions/variables/{name}/repositories/{repository_id}         org_actions_variable.add_repo        write medium
  DELETE /orgs/{org}/actions/variables/{name}/repositories/{repository_id}         org_actions_variable.remove_repo     write high
  GET    /orgs/{org}/agents/secrets                                                org_agents_secret.list               read  low
  GET    /orgs/{org}/agents/secrets/public-key                                     org_agents_secret.get_public_key     read  low
  GET    /orgs/{org}/agents/secrets/{secret_name}                                  org_agents_secret.get                read  low
  PUT    /orgs/{org}/agents/secrets/{secret_name}                                  org_agents_secret.set                write high   visibility,selected_repository_ids
  DELETE /orgs/{org}/agents/secrets/{secret_name}                                  org_agents_secret.delete             write high
  GET    /orgs/{org}/agents/secrets/{secret_name}/repositories                     org_agents_secret.list_repos         read  low
  PUT    /orgs/{org}/agents/secrets/{secret_name}/repositories                     org_agents_secret.set_repos          write high
  PUT    /orgs/{org}/agents/secrets/{secret_name}/repositories/{repository_id}     org_agents_secret.add_repo           write high
  DELETE /orgs/{org}/agents/secrets/{secret_name}/repositories/{repository_id}     org_agents_secret.remove_repo        write high
  GET    /orgs/{org}/agents/variables                                              org_agents_variable.list             read  low
  POST   /orgs/{org}/agents/variables                                              org_agents_variable.create           write medium name
  GET    /orgs/{org}/agents/variables/{name}                                       org_agents_variable.get              read  low
  PATCH  /orgs/{org}/agents/variables/{name}                                       org_agents_variable.update           write medium
  DELETE /orgs/{org}/agents/variables/{name}                                       org_agents_variable.delete           write high
  GET    /orgs/{org}/agents/variables/{name}/repositories                          org_agents_variable.list_repos       read  low
  PUT    /orgs/{org}/agents/variables/{name}/repositories                          org_agents_variable.set_repos        write medium
  PUT    /orgs/{org}/agents/variables/{name}/repositories/{repository_id}          org_agents_variable.add_repo         write medium
  DELETE /orgs/{org}/agents/variables/{name}/repositories/{repository_id}          org_agents_variable.remove_repo      write high
  GET    /orgs/{org}/codespaces/secrets                                            org_codespaces_secret.list           read  low
  GET    /orgs/{org}/codespaces/secrets/public-key                                 org_codespaces_secret.get_public_key read  low
  GET    /orgs/{org}/codespaces/secrets/{secret_name}                              org_codespaces_secret.get            read  low
  PUT    /orgs/{org}/codespaces/secrets/{secret_name}                              org_codespaces_secret.set            write high   visibility,selected_repository_ids
  DELETE /orgs/{org}/codespaces/secrets/{secret_name}                              org_codespaces_secret.delete         write high
  GET    /orgs/{org}/codespaces/secrets/{secret_name}/repositories                 org_codespaces_secret.list_repos     read  low
  PUT    /orgs/{org}/codespaces/secrets/{secret_name}/repositories                 org_codespaces_secret.set_repos      write high
  PUT    /orgs/{org}/codespaces/secrets/{secret_name}/repositories/{repository_id} org_codespaces_secret.add_repo       write high
  DELETE /orgs/{org}/codespaces/secrets/{secret_name}/repositories/{repository_id} org_codespaces_secret.remove_repo    write high
  GET    /orgs/{org}/dependabot/secrets                                            org_dependabot_secret.list           read  low
  GET    /orgs/{org}/dependabot/secrets/public-key                                 org_dependabot_secret.get_public_key read  low
  GET    /orgs/{org}/dependabot/secrets/{secret_name}                              org_dependabot_secret.get            read  low
  PUT    /orgs/{org}/dependabot/secrets/{secret_name}                              org_dependabot_secret.set            write high   visibility,selected_repository_ids
  DELETE /orgs/{org}/dependabot/secrets/{secret_name}                              org_dependabot_secret.delete         write high
  GET    /orgs/{org}/dependabot/secrets/{secret_name}/repositories                 org_dependabot_secret.list_repos     read  low
  PUT    /orgs/{org}/dependabot/secrets/{secret_name}/repositories                 org_dependabot_secret.set_repos      write high
  PUT    /orgs/{org}/dependabot/secrets/{secret_name}/repositories/{repository_id} org_dependabot_secret.add_repo       write high
  DELETE /orgs/{org}/dependabot/secrets/{secret_name}/repositories/{repository_id} org_dependabot_secret.remove_repo    write high
  GET    /orgs/{org}/private-registries                                            private_registry.list                read  low
  POST   /orgs/{org}/private-registries                                            private_registry.create              write high   registry_type,url,visibility
  GET    /orgs/{org}/private-registries/public-key                                 private_registry.get_public_key      read  low
  GET    /orgs/{org}/private-registries/{secret_name}                              private_registry.get                 read  low
  PATCH  /orgs/{org}/private-registries/{secret_name}                              private_registry.update              write high   registry_type,url,visibility
  DELETE /orgs/{org}/private-registries/{secret_name}                              private_registry.delete              write high
`
