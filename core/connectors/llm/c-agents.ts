/**
 * Catalogue rows of llm_c: operations that the provider's client uses in addition to the published service definitions
 * (`google-genai` 3.4.0 on PyPI, read 2026-11-23): interactions, hosted agents, searchable file stores, batches.
 */
export const LLM_C_AGENTS = `
  POST   /v1beta/interactions                                            interaction.create_stream   compute low    ?stream=true model,agent,stream
  POST   /v1beta/interactions                                            interaction.create          compute low    ?!stream model,agent,stream
  GET    /v1beta/interactions/{id}                                       interaction.get             read    low
  DELETE /v1beta/interactions/{id}                                       interaction.delete          write   medium +irreversible
  POST   /v1beta/interactions/{id}/cancel                                interaction.cancel          write   low
  POST   /v1beta/decisions                                               decision.create             compute low    model
  GET    /v1beta/agents                                                  agent.list                  read    low
  POST   /v1beta/agents                                                  agent.create                write   medium
  GET    /v1beta/agents/{id}                                             agent.get                   read    low
  DELETE /v1beta/agents/{id}                                             agent.delete                write   high   +irreversible
  GET    /v1beta/environments                                            environment.list            read    low
  POST   /v1beta/environments                                            environment.create          write   medium
  GET    /v1beta/environments/{environment}                              environment.get             read    low
  DELETE /v1beta/environments/{environment}                              environment.delete          write   high   +irreversible
  GET    /v1beta/environments/{environment}/files/{path+}                environment_file.get        read    low
  PUT    /upload/v1beta/environments/{environment}/files/{path+}         environment_file.upload     write   medium @opaque
  GET    /v1beta/triggers                                                trigger.list                read    low
  POST   /v1beta/triggers                                                trigger.create              write   high
  GET    /v1beta/triggers/{trigger}                                      trigger.get                 read    low
  PATCH  /v1beta/triggers/{trigger}                                      trigger.update              write   high
  DELETE /v1beta/triggers/{trigger}                                      trigger.delete              write   medium
  GET    /v1beta/triggers/{trigger}/executions                           trigger_execution.list      read    low
  POST   /v1beta/triggers/{trigger}/executions                           trigger_execution.create    compute medium
  GET    /v1beta/credentials                                             credential.list             read    low
  POST   /v1beta/credentials                                             credential.create           write   high
  GET    /v1beta/credentials/{id}                                        credential.get              read    low
  PATCH  /v1beta/credentials/{id}                                        credential.update           write   high
  DELETE /v1beta/credentials/{id}                                        credential.delete           write   high
  GET    /v1beta/webhooks                                                webhook.list                read    low
  POST   /v1beta/webhooks                                                webhook.create              write   high   uri
  GET    /v1beta/webhooks/{id}                                           webhook.get                 read    low
  PATCH  /v1beta/webhooks/{id}                                           webhook.update              write   high   uri
  DELETE /v1beta/webhooks/{id}                                           webhook.delete              write   high
  POST   /v1beta/webhooks/{id}:ping                                      webhook.test                write   low
  POST   /v1beta/webhooks/{id}:rotateSigningSecret                       webhook.rotate_secret       write   high
  GET    /v1beta/voices                                                  voice.list                  read    low
  POST   /v1beta/voices                                                  voice.create                write   high
  GET    /v1beta/voices/{id}                                             voice.get                   read    low
  DELETE /v1beta/voices/{id}                                             voice.delete                write   high
  POST   /v1beta/auth_tokens                                             auth_token.create           write   high
  POST   /v1beta/files:register                                          file.register               write   medium
  POST   /v1beta/models/{model}:batchGenerateContent                     batch.create                compute medium model
  POST   /v1beta/tunedModels/{tuned_model}:batchGenerateContent          batch.create                compute medium @same
  POST   /v1beta/models/{model}:asyncBatchEmbedContent                   batch.create_embeddings     compute medium model
  GET    /v1beta/fileSearchStores                                        file_store.list             read    low
  POST   /v1beta/fileSearchStores                                        file_store.create           write   low    displayName
  GET    /v1beta/fileSearchStores/{store}                                file_store.get              read    low
  DELETE /v1beta/fileSearchStores/{store}                                file_store.delete           write   high   +irreversible
  POST   /v1beta/fileSearchStores/{store}:importFile                     file_store.import_file      write   medium fileName
  POST   /upload/v1beta/fileSearchStores/{store}:uploadToFileSearchStore file_store.upload_file      write   medium @opaque
  PUT    /upload/v1beta/fileSearchStores/{store}:uploadToFileSearchStore file_store.upload_file      write   medium @opaque @same
  GET    /v1beta/fileSearchStores/{store}/operations/{id}                file_store_operation.get    read    low
  GET    /v1beta/fileSearchStores/{store}/upload/operations/{id}         file_store_operation.get_upload read low
  GET    /v1beta/fileSearchStores/{store}/documents                      file_store_document.list    read    low
  GET    /v1beta/fileSearchStores/{store}/documents/{id}                 file_store_document.get     read    low
  DELETE /v1beta/fileSearchStores/{store}/documents/{id}                 file_store_document.delete  write   medium +irreversible
`
