/** Catalogue rows of llm_b: managed agents with their sessions, environments, memory, vaults and tunnels. */
export const LLM_B_AGENTS = `
  GET    /v1/agents                                                                 agent.list                         read    low
  POST   /v1/agents                                                                 agent.create                       write   medium name,model
  GET    /v1/agents/{agent_id}                                                      agent.get                          read    low
  POST   /v1/agents/{agent_id}                                                      agent.update                       write   medium name,model
  POST   /v1/agents/{agent_id}/archive                                              agent.archive                      write   medium
  GET    /v1/agents/{agent_id}/versions                                             agent_version.list                 read    low
  GET    /v1/deployment_runs                                                        deployment_run.list                read    low
  GET    /v1/deployment_runs/{deployment_run_id}                                    deployment_run.get                 read    low
  GET    /v1/deployments                                                            deployment.list                    read    low
  POST   /v1/deployments                                                            deployment.create                  write   high
  GET    /v1/deployments/{deployment_id}                                            deployment.get                     read    low
  POST   /v1/deployments/{deployment_id}                                            deployment.update                  write   high
  POST   /v1/deployments/{deployment_id}/archive                                    deployment.archive                 write   medium
  POST   /v1/deployments/{deployment_id}/pause                                      deployment.pause                   write   medium
  POST   /v1/deployments/{deployment_id}/run                                        deployment.run                     compute medium
  POST   /v1/deployments/{deployment_id}/unpause                                    deployment.unpause                 write   high
  GET    /v1/dreams                                                                 dream.list                         read    low
  POST   /v1/dreams                                                                 dream.create                       compute medium
  GET    /v1/dreams/{dream_id}                                                      dream.get                          read    low
  POST   /v1/dreams/{dream_id}/archive                                              dream.archive                      write   low
  POST   /v1/dreams/{dream_id}/cancel                                               dream.cancel                       write   low
  GET    /v1/environments                                                           environment.list                   read    low
  POST   /v1/environments                                                           environment.create                 write   medium name
  GET    /v1/environments/{environment_id}                                          environment.get                    read    low
  POST   /v1/environments/{environment_id}                                          environment.update                 write   medium name
  DELETE /v1/environments/{environment_id}                                          environment.delete                 write   high
  POST   /v1/environments/{environment_id}/archive                                  environment.archive                write   medium
  GET    /v1/environments/{environment_id}/work                                     environment_work.list              read    low
  GET    /v1/environments/{environment_id}/work/poll                                environment_work.poll              write   medium
  GET    /v1/environments/{environment_id}/work/stats                               environment_work.get_stats         read    low
  GET    /v1/environments/{environment_id}/work/{work_id}                           environment_work.get               read    low
  POST   /v1/environments/{environment_id}/work/{work_id}                           environment_work.update            write   medium
  POST   /v1/environments/{environment_id}/work/{work_id}/ack                       environment_work.ack               write   low
  POST   /v1/environments/{environment_id}/work/{work_id}/heartbeat                 environment_work.heartbeat         write   low
  POST   /v1/environments/{environment_id}/work/{work_id}/stop                      environment_work.stop              write   medium
  GET    /v1/memory_stores                                                          memory_store.list                  read    low
  POST   /v1/memory_stores                                                          memory_store.create                write   low    name
  GET    /v1/memory_stores/{memory_store_id}                                        memory_store.get                   read    low
  POST   /v1/memory_stores/{memory_store_id}                                        memory_store.update                write   low    name
  DELETE /v1/memory_stores/{memory_store_id}                                        memory_store.delete                write   high
  POST   /v1/memory_stores/{memory_store_id}/archive                                memory_store.archive               write   medium
  GET    /v1/memory_stores/{memory_store_id}/memories                               memory.list                        read    low
  POST   /v1/memory_stores/{memory_store_id}/memories                               memory.create                      write   low
  GET    /v1/memory_stores/{memory_store_id}/memories/{memory_id}                   memory.get                         read    low
  POST   /v1/memory_stores/{memory_store_id}/memories/{memory_id}                   memory.update                      write   low
  DELETE /v1/memory_stores/{memory_store_id}/memories/{memory_id}                   memory.delete                      write   high
  GET    /v1/memory_stores/{memory_store_id}/memory_versions                        memory_version.list                read    low
  GET    /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}    memory_version.get                 read    low
  POST   /v1/memory_stores/{memory_store_id}/memory_versions/{memory_version_id}/redact memory_version.redact              write   high   +irreversible
  GET    /v1/sessions                                                               session.list                       read    low
  POST   /v1/sessions                                                               session.create                     compute medium agent,environment_id
  GET    /v1/sessions/{session_id}                                                  session.get                        read    low
  POST   /v1/sessions/{session_id}                                                  session.update                     write   low
  DELETE /v1/sessions/{session_id}                                                  session.delete                     write   high
  POST   /v1/sessions/{session_id}/archive                                          session.archive                    write   low
  GET    /v1/sessions/{session_id}/events                                           session_event.list                 read    low
  POST   /v1/sessions/{session_id}/events                                           session_event.send                 compute medium
  GET    /v1/sessions/{session_id}/events/stream                                    session_event.stream               read    low
  GET    /v1/sessions/{session_id}/resources                                        session_resource.list              read    low
  POST   /v1/sessions/{session_id}/resources                                        session_resource.add               write   medium
  GET    /v1/sessions/{session_id}/resources/{resource_id}                          session_resource.get               read    low
  POST   /v1/sessions/{session_id}/resources/{resource_id}                          session_resource.update            write   medium
  DELETE /v1/sessions/{session_id}/resources/{resource_id}                          session_resource.remove            write   medium
  GET    /v1/sessions/{session_id}/threads                                          session_thread.list                read    low
  GET    /v1/sessions/{session_id}/threads/{thread_id}                              session_thread.get                 read    low
  POST   /v1/sessions/{session_id}/threads/{thread_id}/archive                      session_thread.archive             write   low
  GET    /v1/sessions/{session_id}/threads/{thread_id}/events                       session_thread.list_events         read    low
  GET    /v1/sessions/{session_id}/threads/{thread_id}/stream                       session_thread.stream              read    low
  GET    /v1/tunnels                                                                tunnel.list                        read    low
  POST   /v1/tunnels                                                                tunnel.create                      write   high
  GET    /v1/tunnels/{tunnel_id}                                                    tunnel.get                         read    low
  POST   /v1/tunnels/{tunnel_id}/archive                                            tunnel.archive                     write   high
  GET    /v1/tunnels/{tunnel_id}/certificates                                       tunnel_certificate.list            read    low
  POST   /v1/tunnels/{tunnel_id}/certificates                                       tunnel_certificate.create          write   high
  GET    /v1/tunnels/{tunnel_id}/certificates/{certificate_id}                      tunnel_certificate.get             read    low
  POST   /v1/tunnels/{tunnel_id}/certificates/{certificate_id}/archive              tunnel_certificate.archive         write   high
  POST   /v1/tunnels/{tunnel_id}/reveal_token                                       tunnel.reveal_token                write   high
  POST   /v1/tunnels/{tunnel_id}/rotate_token                                       tunnel.rotate_token                write   high
  GET    /v1/user_profiles                                                          user_profile.list                  read    low
  POST   /v1/user_profiles                                                          user_profile.create                write   medium
  GET    /v1/user_profiles/{user_profile_id}                                        user_profile.get                   read    low
  POST   /v1/user_profiles/{user_profile_id}                                        user_profile.update                write   medium
  DELETE /v1/user_profiles/{user_profile_id}                                        user_profile.delete                write   high
  POST   /v1/user_profiles/{user_profile_id}/action_urls                            user_profile.create_action_url     write   high
  POST   /v1/user_profiles/{user_profile_id}/enrollment_url                         user_profile.create_enrollment_url write   high
  GET    /v1/vaults                                                                 vault.list                         read    low
  POST   /v1/vaults                                                                 vault.create                       write   high   name
  GET    /v1/vaults/{vault_id}                                                      vault.get                          read    low
  POST   /v1/vaults/{vault_id}                                                      vault.update                       write   high   name
  DELETE /v1/vaults/{vault_id}                                                      vault.delete                       write   high
  POST   /v1/vaults/{vault_id}/archive                                              vault.archive                      write   high
  GET    /v1/vaults/{vault_id}/credentials                                          vault_credential.list              read    low
  POST   /v1/vaults/{vault_id}/credentials                                          vault_credential.create            write   high
  GET    /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.get               read    low
  POST   /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.update            write   high
  DELETE /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.delete            write   high
  POST   /v1/vaults/{vault_id}/credentials/{credential_id}/archive                  vault_credential.archive           write   high
  POST   /v1/vaults/{vault_id}/credentials/{credential_id}/mcp_oauth_validate       vault_credential.validate          write   low
`
