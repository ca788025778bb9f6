/** Catalogue rows of llm_a: containers, conversations, evals, skills, threads, files of vector stores, realtime. */
export const LLM_A_OBJECTS = `
  POST   /v1/chatkit/sessions                                                       chatkit_session.create                write   medium
  POST   /v1/chatkit/sessions/{session_id}/cancel                                   chatkit_session.cancel                write   low
  GET    /v1/chatkit/threads                                                        chatkit_thread.list                   read    low
  GET    /v1/chatkit/threads/{thread_id}                                            chatkit_thread.get                    read    low
  DELETE /v1/chatkit/threads/{thread_id}                                            chatkit_thread.delete                 write   high
  GET    /v1/chatkit/threads/{thread_id}/items                                      chatkit_thread.list_items             read    low
  GET    /v1/containers                                                             container.list                        read    low
  POST   /v1/containers                                                             container.create                      write   medium name
  GET    /v1/containers/{container_id}                                              container.get                         read    low
  DELETE /v1/containers/{container_id}                                              container.delete                      write   high
  GET    /v1/containers/{container_id}/files                                        container_file.list                   read    low
  POST   /v1/containers/{container_id}/files                                        container_file.create                 write   medium file_id @opaque
  GET    /v1/containers/{container_id}/files/{file_id}                              container_file.get                    read    low
  DELETE /v1/containers/{container_id}/files/{file_id}                              container_file.delete                 write   high
  GET    /v1/containers/{container_id}/files/{file_id}/content                      container_file.download               read    low
  POST   /v1/conversations                                                          conversation.create                   write   low
  GET    /v1/conversations/{conversation_id}                                        conversation.get                      read    low
  POST   /v1/conversations/{conversation_id}                                        conversation.update                   write   low
  DELETE /v1/conversations/{conversation_id}                                        conversation.delete                   write   high
  GET    /v1/conversations/{conversation_id}/items                                  conversation_item.list                read    low
  POST   /v1/conversations/{conversation_id}/items                                  conversation_item.create              write   low
  GET    /v1/conversations/{conversation_id}/items/{item_id}                        conversation_item.get                 read    low
  DELETE /v1/conversations/{conversation_id}/items/{item_id}                        conversation_item.delete              write   high
  GET    /v1/evals                                                                  eval.list                             read    low
  POST   /v1/evals                                                                  eval.create                           write   low    name
  GET    /v1/evals/{eval_id}                                                        eval.get                              read    low
  POST   /v1/evals/{eval_id}                                                        eval.update                           write   low    name
  DELETE /v1/evals/{eval_id}                                                        eval.delete                           write   high
  GET    /v1/evals/{eval_id}/runs                                                   eval_run.list                         read    low
  POST   /v1/evals/{eval_id}/runs                                                   eval_run.create                       compute medium
  GET    /v1/evals/{eval_id}/runs/{run_id}                                          eval_run.get                          read    low
  POST   /v1/evals/{eval_id}/runs/{run_id}                                          eval_run.cancel                       write   low
  POST   /v1/evals/{eval_id}/runs/{run_id}/cancel                                   eval_run.cancel                       write   low    @same
  DELETE /v1/evals/{eval_id}/runs/{run_id}                                          eval_run.delete                       write   high
  GET    /v1/evals/{eval_id}/runs/{run_id}/output_items                             eval_run_item.list                    read    low
  GET    /v1/evals/{eval_id}/runs/{run_id}/output_items/{output_item_id}            eval_run_item.get                     read    low
  POST   /v1/fine_tuning/alpha/graders/run                                          grader.run                            compute low
  POST   /v1/fine_tuning/alpha/graders/validate                                     grader.validate                       compute low
  GET    /v1/fine_tuning/checkpoints/{fine_tuned_model_checkpoint}/permissions      checkpoint_permission.list            read    low
  POST   /v1/fine_tuning/checkpoints/{fine_tuned_model_checkpoint}/permissions      checkpoint_permission.create          write   high   project_ids
  DELETE /v1/fine_tuning/checkpoints/{fine_tuned_model_checkpoint}/permissions/{permission_id} checkpoint_permission.delete          write   high
  GET    /v1/fine_tuning/jobs/{id}/permissions                                      finetune.list_permissions             read    low
  POST   /v1/realtime/calls                                                         realtime_call.create                  compute medium @opaque
  POST   /v1/realtime/calls/{call_id}/accept                                        realtime_call.accept                  compute medium
  POST   /v1/realtime/calls/{call_id}/hangup                                        realtime_call.hangup                  write   low
  POST   /v1/realtime/calls/{call_id}/refer                                         realtime_call.refer                   write   medium target_uri
  POST   /v1/realtime/calls/{call_id}/reject                                        realtime_call.reject                  write   low
  POST   /v1/realtime/client_secrets                                                realtime_secret.create                write   high
  POST   /v1/realtime/sessions                                                      realtime_session.create               write   high
  POST   /v1/realtime/transcription_sessions                                        realtime_session.create_transcription write   high
  GET    /v1/skills                                                                 skill.list                            read    low
  POST   /v1/skills                                                                 skill.create                          write   medium @opaque
  GET    /v1/skills/{skill_id}                                                      skill.get                             read    low
  POST   /v1/skills/{skill_id}                                                      skill.update                          write   medium default_version
  DELETE /v1/skills/{skill_id}                                                      skill.delete                          write   high
  GET    /v1/skills/{skill_id}/content                                              skill.download                        read    low
  GET    /v1/skills/{skill_id}/versions                                             skill_version.list                    read    low
  POST   /v1/skills/{skill_id}/versions                                             skill_version.create                  write   medium @opaque
  GET    /v1/skills/{skill_id}/versions/{version}                                   skill_version.get                     read    low
  DELETE /v1/skills/{skill_id}/versions/{version}                                   skill_version.delete                  write   high
  GET    /v1/skills/{skill_id}/versions/{version}/content                           skill_version.download                read    low
  GET    /v1/threads/{thread_id}/messages/{message_id}                              thread_message.get                    read    low
  POST   /v1/threads/{thread_id}/messages/{message_id}                              thread_message.update                 write   low
  DELETE /v1/threads/{thread_id}/messages/{message_id}                              thread_message.delete                 write   medium
  POST   /v1/threads/{thread_id}/runs/{run_id}                                      run.update                            write   low
  GET    /v1/threads/{thread_id}/runs/{run_id}/steps                                run_step.list                         read    low
  GET    /v1/threads/{thread_id}/runs/{run_id}/steps/{step_id}                      run_step.get                          read    low
  POST   /v1/threads/{thread_id}/runs/{run_id}/submit_tool_outputs                  run.submit_tool_outputs               compute low
  POST   /v1/vector_stores/{vector_store_id}/file_batches                           vector_store_batch.create             write   low    file_ids
  GET    /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}                vector_store_batch.get                read    low
  POST   /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/cancel         vector_store_batch.cancel             write   low
  GET    /v1/vector_stores/{vector_store_id}/file_batches/{batch_id}/files          vector_store_batch.list_files         read    low
  GET    /v1/vector_stores/{vector_store_id}/files                                  vector_store_file.list                read    low
  POST   /v1/vector_stores/{vector_store_id}/files                                  vector_store_file.add                 write   low    file_id
  GET    /v1/vector_stores/{vector_store_id}/files/{file_id}                        vector_store_file.get                 read    low
  POST   /v1/vector_stores/{vector_store_id}/files/{file_id}                        vector_store_file.update              write   low
  DELETE /v1/vector_stores/{vector_store_id}/files/{file_id}                        vector_store_file.remove              write   medium
  GET    /v1/vector_stores/{vector_store_id}/files/{file_id}/content                vector_store_file.download            read    low
  POST   /v1/videos/characters                                                      video_character.create                write   medium @opaque
  GET    /v1/videos/characters/{character_id}                                       video_character.get                   read    low
  POST   /v1/videos/edits                                                           video.edit                            compute medium @opaque
  POST   /v1/videos/extensions                                                      video.extend                          compute medium @opaque
`
