/**
 * Catalogue rows for coding assistants of the code host: seats, permissions, metrics, spaces, tasks of coding agents.
 */
export const ASSISTANTS = `
  GET    /agents/repos/{owner}/{repo}/tasks                                           agent_task.list                          read  low
  POST   /agents/repos/{owner}/{repo}/tasks                                           agent_task.create                        write high   prompt,base_ref
  GET    /agents/repos/{owner}/{repo}/tasks/{task_id}                                 agent_task.get                           read  low
  GET    /agents/tasks                                                                agent_task.list                          read  low
  GET    /agents/tasks/{task_id}                                                      agent_task.get                           read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/enterprise-1-day           copilot_metrics.get_day                  read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/enterprise-28-day/latest   copilot_metrics.get_latest               read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/repos-1-day                copilot_metrics.get_repos_day            read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/user-teams-1-day           copilot_metrics.get_teams_day            read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/users-1-day                copilot_metrics.get_users_day            read  low
  GET    /enterprises/{enterprise}/copilot/metrics/reports/users-28-day/latest        copilot_metrics.get_users_latest         read  low
  GET    /orgs/{org}/copilot-spaces                                                   copilot_space.list                       read  low
  POST   /orgs/{org}/copilot-spaces                                                   copilot_space.create                     write medium name
  GET    /orgs/{org}/copilot-spaces/{space_number}                                    copilot_space.get                        read  low
  PUT    /orgs/{org}/copilot-spaces/{space_number}                                    copilot_space.update                     write medium
  DELETE /orgs/{org}/copilot-spaces/{space_number}                                    copilot_space.delete                     write high
  GET    /orgs/{org}/copilot-spaces/{space_number}/collaborators                      copilot_space_collaborator.list          read  low organization_copilot_seat_management:read
  POST   /orgs/{org}/copilot-spaces/{space_number}/collaborators                      copilot_space_collaborator.add           write high   role organization_copilot_seat_management:write
  PUT    /orgs/{org}/copilot-spaces/{space_number}/collaborators/{actor_type}/{actor_identifier} copilot_space_collaborator.update        write high   role organization_copilot_seat_management:write
  DELETE /orgs/{org}/copilot-spaces/{space_number}/collaborators/{actor_type}/{actor_identifier} copilot_space_collaborator.remove        write high organization_copilot_seat_management:write
  GET    /orgs/{org}/copilot-spaces/{space_number}/resources                          copilot_space_resource.list              read  low
  POST   /orgs/{org}/copilot-spaces/{space_number}/resources                          copilot_space_resource.create            write medium
  GET    /orgs/{org}/copilot-spaces/{space_number}/resources/{space_resource_id}      copilot_space_resource.get               read  low
  PUT    /orgs/{org}/copilot-spaces/{space_number}/resources/{space_resource_id}      copilot_space_resource.update            write medium
  DELETE /orgs/{org}/copilot-spaces/{space_number}/resources/{space_resource_id}      copilot_space_resource.delete            write high
  GET    /orgs/{org}/copilot/billing                                                  org_copilot.get_billing                  read  low organization_administration:read,organization_copilot_seat_management:read
  GET    /orgs/{org}/copilot/billing/seats                                            org_copilot.list_seats                   read  low organization_administration:read,organization_copilot_seat_management:read
  POST   /orgs/{org}/copilot/billing/selected_teams                                   org_copilot.add_team_seats               write high   selected_teams +financial_impact organization_administration:write,organization_copilot_seat_management:write
  DELETE /orgs/{org}/copilot/billing/selected_teams                                   org_copilot.cancel_team_seats            write high   selected_teams organization_administration:write,organization_copilot_seat_management:write
  POST   /orgs/{org}/copilot/billing/selected_users                                   org_copilot.add_user_seats               write high   selected_usernames +financial_impact organization_administration:write,organization_copilot_seat_management:write
  DELETE /orgs/{org}/copilot/billing/selected_users                                   org_copilot.cancel_user_seats            write high   selected_usernames organization_administration:write,organization_copilot_seat_management:write
  GET    /orgs/{org}/copilot/coding-agent/permissions                                 org_coding_agent_permission.get          read  low organization_copilot_agent_settings:read
  PUT    /orgs/{org}/copilot/coding-agent/permissions                                 org_coding_agent_permission.set          write high organization_copilot_agent_settings:write
  GET    /orgs/{org}/copilot/coding-agent/permissions/repositories                    org_coding_agent_permission.list_repos   read  low organization_copilot_agent_settings:read
  PUT    /orgs/{org}/copilot/coding-agent/permissions/repositories                    org_coding_agent_permission.set_repos    write high organization_copilot_agent_settings:write
  PUT    /orgs/{org}/copilot/coding-agent/permissions/repositories/{repository_id}    org_coding_agent_permission.enable_repo  write high organization_copilot_agent_settings:write
  DELETE /orgs/{org}/copilot/coding-agent/permissions/repositories/{repository_id}    org_coding_agent_permission.disable_repo write high organization_copilot_agent_settings:write
  GET    /orgs/{org}/copilot/content_exclusion                                        org_copilot.get_content_exclusion        read  low
  PUT    /orgs/{org}/copilot/content_exclusion                                        org_copilot.set_content_exclusion        write high
  GET    /orgs/{org}/copilot/metrics/reports/organization-1-day                       copilot_metrics.get_day                  read  low
  GET    /orgs/{org}/copilot/metrics/reports/organization-28-day/latest               copilot_metrics.get_latest               read  low
  GET    /orgs/{org}/copilot/metrics/reports/repos-1-day                              copilot_metrics.get_repos_day            read  low
  GET    /orgs/{org}/copilot/metrics/reports/user-teams-1-day                         copilot_metrics.get_teams_day            read  low
  GET    /orgs/{org}/copilot/metrics/reports/users-1-day                              copilot_metrics.get_users_day            read  low
  GET    /orgs/{org}/copilot/metrics/reports/users-28-day/latest                      copilot_metrics.get_users_latest         read  low
  GET    /orgs/{org}/members/{username}/copilot                                       org_copilot.get_seat                     read  low organization_administration:read,organization_copilot_seat_management:read
  GET    /repos/{owner}/{repo}/copilot/cloud-agent/configuration                      cloud_agent.get_configuration            read  low
  GET    /users/{username}/copilot-spaces                                             copilot_space.list                       read  low
  POST   /users/{username}/copilot-spaces                                             copilot_space.create                     write medium name @same
  GET    /users/{username}/copilot-spaces/{space_number}                              copilot_space.get                        read  low
  PUT    /users/{username}/copilot-spaces/{space_number}                              copilot_space.update                     write medium @same
  DELETE /users/{username}/copilot-spaces/{space_number}                              copilot_space.delete                     write high   @same
  GET    /users/{username}/copilot-spaces/{space_number}/collaborators                copilot_space_collaborator.list          read  low
  POST   /users/{username}/copilot-spaces/{space_number}/collaborators                copilot_space_collaborator.add           write high   role @same
  PUT    /users/{username}/copilot-spaces/{space_number}/collaborators/{actor_type}/{actor_identifier} copilot_space_collaborator.update        write high   role @same
  DELETE /users/{username}/copilot-spaces/{space_number}/collaborators/{actor_type}/{actor_identifier} copilot_space_collaborator.remove        write high   @same
  GET    /users/{username}/copilot-spaces/{space_number}/resources                    copilot_space_resource.list              read  low
  POST   /users/{username}/copilot-spaces/{space_number}/resources                    copilot_space_resource.create            write medium @same
  GET    /users/{username}/copilot-spaces/{space_number}/resources/{space_resource_id} copilot_space_resource.get               read  low
  PUT    /users/{username}/copilot-spaces/{space_number}/resources/{space_resource_id} copilot_space_resource.update            write medium @same
  DELETE /users/{username}/copilot-spaces/{space_number}/resources/{space_resource_id} copilot_space_resource.delete            write high   @same
`
