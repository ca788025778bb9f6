/**
 * Catalogue rows of llm_b: models, messages, batches. A batch is many model calls and therefore also `compute`,
 * although it continues after the request.
 */
export const LLM_B_MODELS = `
  POST   /v1/messages                                  message.create_stream     compute low    ?stream=true model,stream,max_tokens
  POST   /v1/messages                                  message.create            compute low    ?!stream model,stream,max_tokens
  POST   /v1/messages/count_tokens                     message.count_tokens      compute low    model
  POST   /v1/messages/batches                          batch.create              compute medium @long
  GET    /v1/messages/batches                          batch.list                read    low
  GET    /v1/messages/batches/{id}                     batch.get                 read    low
  DELETE /v1/messages/batches/{id}                     batch.delete              write   medium +irreversible
  POST   /v1/messages/batches/{id}/cancel              batch.cancel              write   medium
  GET    /v1/messages/batches/{id}/results             batch.results             read    low
  POST   /v1/complete                                  completion.create_stream  compute low    ?stream=true model,stream
  POST   /v1/complete                                  completion.create         compute low    ?!stream model,stream
  GET    /v1/models                                    model.list                read    low
  GET    /v1/models/{id}                               model.get                 read    low
  POST   /v1/files                                     file.upload               write   medium @opaque
  GET    /v1/files                                     file.list                 read    low
  GET    /v1/files/{id}                                file.get                  read    low
  GET    /v1/files/{id}/content                        file.download             read    low
  DELETE /v1/files/{id}                                file.delete               write   medium +irreversible
  GET    /v1/skills                                    skill.list                read    low
  POST   /v1/skills                                    skill.create              write   medium @opaque
  GET    /v1/skills/{id}                               skill.get                 read    low
  DELETE /v1/skills/{id}                               skill.delete              write   high   +irreversible
  GET    /v1/skills/{id}/versions                      skill_version.list        read    low
  POST   /v1/skills/{id}/versions                      skill_version.create      write   medium @opaque
  GET    /v1/skills/{id}/versions/{version}            skill_version.get         read    low
  DELETE /v1/skills/{id}/versions/{version}            skill_version.delete      write   high   +irreversible
  GET    /v1/skills/{id}/versions/{version}/content    skill_version.download    read    low
`
