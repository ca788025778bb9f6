/** Catalogue rows of llm_a: models, responses, files. Model calls are `compute`: they cost money and change nothing. */
export const LLM_A_MODELS = `
  POST   /v1/chat/completions                          chat.create_stream        compute low    ?stream=true model,stream,max_tokens,n
  POST   /v1/chat/completions                          chat.create               compute low    ?!stream model,stream,max_tokens,n
  GET    /v1/chat/completions                          chat.list                 read    low
  GET    /v1/chat/completions/{id}                     chat.get                  read    low
  POST   /v1/chat/completions/{id}                     chat.update               write   low
  DELETE /v1/chat/completions/{id}                     chat.delete               write   medium
  GET    /v1/chat/completions/{id}/messages            chat.list_messages        read    low
  POST   /v1/responses                                 response.create_stream    compute low    ?stream=true model,stream,max_output_tokens
  POST   /v1/responses                                 response.create           compute low    ?!stream model,stream,max_output_tokens
  GET    /v1/responses/{id}                            response.get              read    low
  DELETE /v1/responses/{id}                            response.delete           write   medium
  POST   /v1/responses/{id}/cancel                     response.cancel           write   low
  POST   /v1/responses/compact                         response.compact          compute low    model
  POST   /v1/responses/input_tokens                    response.count_tokens     compute low    model
  GET    /v1/responses/{id}/input_items                response.list_input_items read    low
  POST   /v1/completions                               completion.create_stream  compute low    ?stream=true model,stream,max_tokens
  POST   /v1/completions                               completion.create         compute low    ?!stream model,stream,max_tokens
  POST   /v1/embeddings                                embedding.create          compute low    model
  POST   /v1/moderations                               moderation.create         compute low    model
  POST   /v1/images/generations                        image.generate            compute medium model,n,size
  POST   /v1/images/edits                              image.edit                compute medium @opaque
  POST   /v1/images/variations                         image.create_variation    compute medium @opaque
  POST   /v1/audio/transcriptions                      audio.transcribe          compute low @opaque
  POST   /v1/audio/translations                        audio.translate           compute low @opaque
  POST   /v1/audio/speech                              audio.speech              compute low    model,voice
  POST   /v1/videos                                    video.create              compute medium model @opaque
  GET    /v1/videos                                    video.list                read    low
  GET    /v1/videos/{id}                               video.get                 read    low
  DELETE /v1/videos/{id}                               video.delete              write   medium
  GET    /v1/videos/{id}/content                       video.download            read    low
  POST   /v1/videos/{id}/remix                         video.remix               compute medium

  POST   /v1/files                                     file.upload               write   medium @opaque
  GET    /v1/files                                     file.list                 read    low
  GET    /v1/files/{id}                                file.get                  read    low
  GET    /v1/files/{id}/content                        file.download             read    low
  DELETE /v1/files/{id}                                file.delete               write   medium +irreversible
  POST   /v1/uploads                                   upload.create             write   medium purpose,filename
  POST   /v1/uploads/{id}/parts                        upload.add_part           write   medium @opaque
  POST   /v1/uploads/{id}/complete                     upload.complete           write   medium
  POST   /v1/uploads/{id}/cancel                       upload.cancel             write   low
  POST   /v1/fine_tuning/jobs                          finetune.create           write   high   model,training_file
  GET    /v1/fine_tuning/jobs                          finetune.list             read    low
  GET    /v1/fine_tuning/jobs/{id}                     finetune.get              read    low
  POST   /v1/fine_tuning/jobs/{id}/cancel              finetune.cancel           write   medium
  POST   /v1/fine_tuning/jobs/{id}/pause               finetune.pause            write   medium
  POST   /v1/fine_tuning/jobs/{id}/resume              finetune.resume           write   high
  GET    /v1/fine_tuning/jobs/{id}/events              finetune.list_events      read    low
  GET    /v1/fine_tuning/jobs/{id}/checkpoints         finetune.list_checkpoints read    low
  GET    /v1/models                                    model.list                read    low
  GET    /v1/models/{id}                               model.get                 read    low
  DELETE /v1/models/{id}                               model.delete              write   high   +irreversible
  POST   /v1/traces/ingest                             trace.ingest              compute low
  POST   /v1/batches                                   batch.create              compute medium input_file_id,endpoint
  GET    /v1/batches                                   batch.list                read    low
  GET    /v1/batches/{id}                              batch.get                 read    low
  POST   /v1/batches/{id}/cancel                       batch.cancel              write   medium

  GET    /v1/assistants                                assistant.list            read    low
  POST   /v1/assistants                                assistant.create          write   low    model,name
  GET    /v1/assistants/{id}                           assistant.get             read    low
  POST   /v1/assistants/{id}                           assistant.update          write   low    model,name
  DELETE /v1/assistants/{id}                           assistant.delete          write   high   +irreversible
  POST   /v1/threads                                   thread.create             write   low
  GET    /v1/threads/{id}                              thread.get                read    low
  POST   /v1/threads/{id}                              thread.update             write   low
  DELETE /v1/threads/{id}                              thread.delete             write   high
  GET    /v1/threads/{id}/messages                     thread_message.list       read    low
  POST   /v1/threads/{id}/messages                     thread_message.create     write   low
  GET    /v1/threads/{id}/runs                         run.list                  read    low
  POST   /v1/threads/{id}/runs                         run.create                compute low    assistant_id,model
  POST   /v1/threads/runs                              run.create                compute low    assistant_id,model @same
  GET    /v1/threads/{id}/runs/{run_id}                run.get                   read    low
  POST   /v1/threads/{id}/runs/{run_id}/cancel         run.cancel                write   low
  GET    /v1/vector_stores                             vector_store.list         read    low
  POST   /v1/vector_stores                             vector_store.create       write   low    name
  GET    /v1/vector_stores/{id}                        vector_store.get          read    low
  POST   /v1/vector_stores/{id}                        vector_store.update       write   low    name
  DELETE /v1/vector_stores/{id}                        vector_store.delete       write   high   +irreversible
  GET    /v1/vector_stores/{id}/search                 vector_store.search       read    low
  POST   /v1/vector_stores/{id}/search                 vector_store.search       read    low
`
