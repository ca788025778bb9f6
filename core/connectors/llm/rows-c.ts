/**
 * Catalogue rows of llm_c, from the service definitions of `google-ai-generativelanguage` 0.12.1 (PyPI, read
 * 2026-11-23). `v1beta` in a template stands for every version of the API (see `llm/resource-paths.ts`).
 */
export const LLM_C_MODELS = `
  POST   /v1beta/models/{model}:generateContent                    content.generate            compute low    model
  POST   /v1beta/tunedModels/{tuned_model}:generateContent         content.generate            compute low    @same
  POST   /v1beta/dynamic/{dynamic_model}:generateContent           content.generate            compute low    @same
  POST   /v1beta/models/{model}:streamGenerateContent              content.generate_stream     compute low    model
  POST   /v1beta/tunedModels/{tuned_model}:streamGenerateContent   content.generate_stream     compute low    @same
  POST   /v1beta/dynamic/{dynamic_model}:streamGenerateContent     content.generate_stream     compute low    @same
  POST   /v1beta/models/{model}:countTokens                        content.count_tokens        compute low    model
  POST   /v1beta/models/{model}:generateAnswer                     answer.generate             compute low    model
  POST   /v1beta/models/{model}:embedContent                       embedding.create            compute low    model
  POST   /v1beta/models/{model}:batchEmbedContents                 embedding.create_many       compute low    model
  POST   /v1beta/models/{model}:predict                            prediction.create           compute medium model
  POST   /v1beta/models/{model}:predictLongRunning                 prediction.start            compute medium model
  POST   /v1beta/models/{model}:generateText                       text.generate               compute low    model
  POST   /v1beta/tunedModels/{tuned_model}:generateText            text.generate               compute low    @same
  POST   /v1beta/models/{model}:countTextTokens                    text.count_tokens           compute low    model
  POST   /v1beta/models/{model}:embedText                          text.embed                  compute low    model
  POST   /v1beta/models/{model}:batchEmbedText                     text.embed_many             compute low    model
  POST   /v1beta/models/{model}:generateMessage                    message.generate            compute low    model
  POST   /v1beta/models/{model}:countMessageTokens                 message.count_tokens        compute low    model
  GET    /v1beta/models                                            model.list                  read    low
  GET    /v1beta/models/{model}                                    model.get                   read    low
  GET    /v1beta/tunedModels                                       tuned_model.list            read    low
  POST   /v1beta/tunedModels                                       tuned_model.create          write   high   tunedModelId,baseModel,displayName
  GET    /v1beta/tunedModels/{tuned_model}                         tuned_model.get             read    low
  PATCH  /v1beta/tunedModels/{tuned_model}                         tuned_model.update          write   medium displayName
  DELETE /v1beta/tunedModels/{tuned_model}                         tuned_model.delete          write   high   +irreversible
  POST   /v1beta/tunedModels/{tuned_model}:transferOwnership       tuned_model.transfer        write   high   emailAddress +irreversible
  GET    /v1beta/tunedModels/{tuned_model}/permissions             permission.list   read  low
  POST   /v1beta/tunedModels/{tuned_model}/permissions             permission.create write high  emailAddress,granteeType,role
  GET    /v1beta/tunedModels/{tuned_model}/permissions/{id}        permission.get    read  low
  PATCH  /v1beta/tunedModels/{tuned_model}/permissions/{id}        permission.update write high  role
  DELETE /v1beta/tunedModels/{tuned_model}/permissions/{id}        permission.delete write high
  POST   /v1beta/files                                             file.upload                 write   medium @opaque
  POST   /upload/v1beta/files                                      file.upload                 write   medium @opaque @same
  PUT    /upload/v1beta/files                                      file.upload                 write   medium @opaque @same
  GET    /v1beta/files                                             file.list                   read    low
  GET    /v1beta/files/{id}                                        file.get                    read    low
  GET    /v1beta/files/{id}:download                               file.download               read    low
  DELETE /v1beta/files/{id}                                        file.delete                 write   medium +irreversible
  GET    /v1beta/cachedContents                                    cached_content.list         read    low
  POST   /v1beta/cachedContents                                    cached_content.create       write   low    model,displayName
  GET    /v1beta/cachedContents/{id}                               cached_content.get          read    low
  PATCH  /v1beta/cachedContents/{id}                               cached_content.update       write   low
  DELETE /v1beta/cachedContents/{id}                               cached_content.delete       write   medium +irreversible
  GET    /v1beta/batches                                           batch.list                  read    low
  GET    /v1beta/batches/{id}                                      batch.get                   read    low
  POST   /v1beta/batches/{id}:cancel                               batch.cancel                write   medium
  DELETE /v1beta/batches/{id}                                      batch.delete                write   medium +irreversible
  GET    /v1beta/operations                                        operation.list              read    low
  DELETE /v1beta/operations/{id+}                                  operation.delete            write   medium
  GET    /v1beta/models/{model}/operations                         model_operation.list        read    low
  GET    /v1beta/models/{model}/operations/{id}                    model_operation.get         read    low
  GET    /v1beta/tunedModels/{tuned_model}/operations              tuned_model_operation.list  read    low
  GET    /v1beta/tunedModels/{tuned_model}/operations/{id}         tuned_model_operation.get   read    low
  POST   /v1beta/tunedModels/{tuned_model}/operations/{id}:cancel  tuned_model_operation.cancel write  medium
  GET    /v1beta/generatedFiles/{file}/operations/{id}             generated_file_operation.get read   low
`
