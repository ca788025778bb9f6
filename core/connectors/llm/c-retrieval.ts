/** Catalogue rows of llm_c: corpora of documents, as `google-ai-generativelanguage` 0.12.1 publishes them. */
export const LLM_C_RETRIEVAL = `
  GET    /v1beta/corpora                                                   corpus.list               read    low
  POST   /v1beta/corpora                                                   corpus.create             write   low    displayName
  GET    /v1beta/corpora/{corpus}                                          corpus.get                read    low
  PATCH  /v1beta/corpora/{corpus}                                          corpus.update             write   low    displayName
  DELETE /v1beta/corpora/{corpus}                                          corpus.delete             write   high   +irreversible
  POST   /v1beta/corpora/{corpus}:query                                    corpus.query              read    low
  GET    /v1beta/corpora/{corpus}/operations/{id}                          corpus_operation.get      read    low
  GET    /v1beta/corpora/{corpus}/permissions                              permission.list    read    low @same
  POST   /v1beta/corpora/{corpus}/permissions                              permission.create  write   high   emailAddress,granteeType,role @same
  GET    /v1beta/corpora/{corpus}/permissions/{id}                         permission.get     read    low @same
  PATCH  /v1beta/corpora/{corpus}/permissions/{id}                         permission.update  write   high   role @same
  DELETE /v1beta/corpora/{corpus}/permissions/{id}                         permission.delete  write   high @same
  GET    /v1beta/corpora/{corpus}/documents                                document.list             read    low
  POST   /v1beta/corpora/{corpus}/documents                                document.create           write   low    displayName
  GET    /v1beta/corpora/{corpus}/documents/{document}                     document.get              read    low
  PATCH  /v1beta/corpora/{corpus}/documents/{document}                     document.update           write   low    displayName
  DELETE /v1beta/corpora/{corpus}/documents/{document}                     document.delete           write   medium +irreversible
  POST   /v1beta/corpora/{corpus}/documents/{document}:query               document.query            read    low
  GET    /v1beta/corpora/{corpus}/documents/{document}/chunks              chunk.list                read    low
  POST   /v1beta/corpora/{corpus}/documents/{document}/chunks              chunk.create              write   low
  POST   /v1beta/corpora/{corpus}/documents/{document}/chunks:batchCreate  chunk.create_many         write   low
  POST   /v1beta/corpora/{corpus}/documents/{document}/chunks:batchUpdate  chunk.update_many         write   low
  POST   /v1beta/corpora/{corpus}/documents/{document}/chunks:batchDelete  chunk.delete_many         write   medium +irreversible
  GET    /v1beta/corpora/{corpus}/documents/{document}/chunks/{id}         chunk.get                 read    low
  PATCH  /v1beta/corpora/{corpus}/documents/{document}/chunks/{id}         chunk.update              write   low
  DELETE /v1beta/corpora/{corpus}/documents/{document}/chunks/{id}         chunk.delete              write   medium +irreversible
  GET    /v1beta/ragStores/{rag_store}/operations/{id}                     rag_store_operation.get   read    low
  GET    /v1beta/ragStores/{rag_store}/upload/operations/{id}              rag_store_operation.get_upload read low
`
