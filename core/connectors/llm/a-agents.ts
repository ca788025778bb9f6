/**
 * Catalogue rows of llm_a: hosted agents and their resources, vaults, live sessions, decisions, voices, notifications.
 */
export const LLM_A_AGENTS = `
  POST   /v1/agents                                                                 agent.create                       write   medium name,model
  GET    /v1/agents                                                                 agent.list                         read    low
  GET    /v1/agents/{agent_id}                                                      agent.get                          read    low
  POST   /v1/agents/{agent_id}                                                      agent.update                       write   medium name,model
  DELETE /v1/agents/{agent_id}                                                      agent.delete                       write   high
  GET    /v1/agents/automations                                                     agent_automation.list              read    low
  POST   /v1/agents/automations                                                     agent_automation.create            write   medium
  GET    /v1/agents/automations/{automation_id}                                     agent_automation.get               read    low
  POST   /v1/agents/automations/{automation_id}                                     agent_automation.update            write   medium
  DELETE /v1/agents/automations/{automation_id}                                     agent_automation.delete            write   high
  POST   /v1/agents/automations/{automation_id}/pause                               agent_automation.pause             write   medium
  POST   /v1/agents/automations/{automation_id}/resume                              agent_automation.resume            write   medium
  GET    /v1/agents/automations/{automation_id}/invocations                         automation_invocation.list         read    low
  POST   /v1/agents/automations/{automation_id}/invocations                         automation_invocation.create       compute medium
  GET    /v1/agents/automations/{automation_id}/invocations/{invocation_id}         automation_invocation.get          read    low
  GET    /v1/agents/environments                                                    agent_environment.list             read    low
  POST   /v1/agents/environments                                                    agent_environment.create           write   medium
  GET    /v1/agents/environments/{environment_id}                                   agent_environment.get              read    low
  GET    /v1/agents/environments/{environment_id}/files                             agent_environment.list_files       read    low
  POST   /v1/agents/environments/{environment_id}/files                             agent_environment.add_file         write   medium file_id,path
  GET    /v1/agents/environments/templates                                          environment_template.list          read    low
  POST   /v1/agents/environments/templates                                          environment_template.create        write   medium
  GET    /v1/agents/environments/templates/{template_id}                            environment_template.get           read    low
  POST   /v1/agents/environments/templates/{template_id}                            environment_template.update        write   medium
  DELETE /v1/agents/environments/templates/{template_id}                            environment_template.delete        write   high
  GET    /v1/agents/sessions                                                        agent_session.list                 read    low
  POST   /v1/agents/sessions                                                        agent_session.create               compute medium
  GET    /v1/agents/sessions/{session_id}                                           agent_session.get                  read    low
  POST   /v1/agents/sessions/{session_id}                                           agent_session.update               write   low
  DELETE /v1/agents/sessions/{session_id}                                           agent_session.delete               write   high
  GET    /v1/agents/sessions/{session_id}/events                                    agent_session.stream_events        read    low
  POST   /v1/agents/sessions/{session_id}/events                                    agent_session.send_event           compute medium
  GET    /v1/agents/sessions/{session_id}/items                                     agent_session.list_items           read    low
  GET    /v1/agents/sessions/{session_id}/traces                                    agent_session.list_traces          read    low
  GET    /v1/agents/sessions/{session_id}/artifacts                                 session_artifact.list              read    low
  GET    /v1/agents/sessions/{session_id}/artifacts/{artifact_id}                   session_artifact.get               read    low
  DELETE /v1/agents/sessions/{session_id}/artifacts/{artifact_id}                   session_artifact.delete            write   medium
  GET    /v1/agents/sessions/{session_id}/artifacts/{artifact_id}/content           session_artifact.download          read    low
  GET    /v1/agents/sessions/{session_id}/turns                                     session_turn.list                  read    low
  GET    /v1/agents/sessions/{session_id}/turns/{turn_id}                           session_turn.get                   read    low
  GET    /v1/agents/sessions/{session_id}/turns/{turn_id}/items                     session_turn.list_items            read    low
  GET    /v1/agents/sessions/{session_id}/subagents                                 subagent.list                      read    low
  GET    /v1/agents/sessions/{session_id}/subagents/{subagent_id}                   subagent.get                       read    low
  GET    /v1/agents/sessions/{session_id}/subagents/{subagent_id}/items             subagent.list_items                read    low
  GET    /v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns             subagent_turn.list                 read    low
  GET    /v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns/{turn_id}   subagent_turn.get                  read    low
  GET    /v1/agents/sessions/{session_id}/subagents/{subagent_id}/turns/{turn_id}/items subagent_turn.list_items           read    low

  GET    /v1/vaults                                                                 vault.list                         read    low
  POST   /v1/vaults                                                                 vault.create                       write   high   name
  GET    /v1/vaults/{vault_id}                                                      vault.get                          read    low
  POST   /v1/vaults/{vault_id}                                                      vault.update                       write   high   name
  DELETE /v1/vaults/{vault_id}                                                      vault.delete                       write   high
  GET    /v1/vaults/{vault_id}/credentials                                          vault_credential.list              read    low
  POST   /v1/vaults/{vault_id}/credentials                                          vault_credential.create            write   high
  GET    /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.get               read    low
  POST   /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.update            write   high
  DELETE /v1/vaults/{vault_id}/credentials/{credential_id}                          vault_credential.delete            write   high

  POST   /v1/live/sessions                                                          live_session.create                compute medium
  POST   /v1/live/sessions/{session_id}/accept                                      live_session.accept                compute medium
  GET    /v1/live/sessions/{session_id}/content                                     live_session.download              read    low
  POST   /v1/live/sessions/{session_id}/fork                                        live_session.fork                  compute medium
  POST   /v1/live/sessions/{session_id}/hangup                                      live_session.hangup                write   low
  POST   /v1/live/sessions/{session_id}/refer                                       live_session.refer                 write   medium target_uri
  POST   /v1/live/sessions/{session_id}/reject                                      live_session.reject                write   low
  POST   /v1/realtime/translations/client_secrets                                   realtime_secret.create_translation write   high

  POST   /v1/decisions                                                              decision.create                    compute low    model
  POST   /v1/content_provenance_checks                                              provenance_check.create            compute low @opaque
  POST   /v1/audio/voices                                                           voice.create                       write   high   name @opaque
  DELETE /v1/audio/voices/{voice_id}                                                voice.delete                       write   high
  GET    /v1/audio/voice_consents                                                   voice_consent.list                 read    low
  POST   /v1/audio/voice_consents                                                   voice_consent.create               write   high   name @opaque
  GET    /v1/audio/voice_consents/{consent_id}                                      voice_consent.get                  read    low
  POST   /v1/audio/voice_consents/{consent_id}                                      voice_consent.update               write   high   name
  DELETE /v1/audio/voice_consents/{consent_id}                                      voice_consent.delete               write   high
  GET    /v1/safety/alerts/{id}                                                     safety_alert.get                   read    low
  GET    /v1/safety/cases/{id}                                                      safety_case.get                    read    low
  GET    /v1/webhook_event_types                                                    webhook_endpoint.list_event_types  read    low
  GET    /v1/webhook_endpoints                                                      webhook_endpoint.list              read    low
  POST   /v1/webhook_endpoints                                                      webhook_endpoint.create            write   high   url
  GET    /v1/webhook_endpoints/{webhook_endpoint_id}                                webhook_endpoint.get               read    low
  POST   /v1/webhook_endpoints/{webhook_endpoint_id}                                webhook_endpoint.update            write   high   url
  DELETE /v1/webhook_endpoints/{webhook_endpoint_id}                                webhook_endpoint.delete            write   high
  POST   /v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret                  webhook_endpoint.rotate_secret     write   high
  POST   /v1/webhook_endpoints/{webhook_endpoint_id}/test                           webhook_endpoint.test              write   low
`
