/**
 * Catalogue rows of llm_c over gRPC, which older clients use: the same operations, with messages that the gateway does
 * not read. Calls without a REST address (`BidiGenerateContent`) have no row.
 */
export const LLM_C_GRPC = `
  POST   /google.ai.generativelanguage.v1beta.CacheService/CreateCachedContent         cached_content.create    write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.CacheService/DeleteCachedContent         cached_content.delete    write   medium +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.CacheService/GetCachedContent            cached_content.get       read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.CacheService/ListCachedContents          cached_content.list      read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.CacheService/UpdateCachedContent         cached_content.update    write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.DiscussService/CountMessageTokens        message.count_tokens     compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.DiscussService/GenerateMessage           message.generate         compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.FileService/CreateFile                   file.upload              write   medium @opaque @same
  POST   /google.ai.generativelanguage.v1beta.FileService/DeleteFile                   file.delete              write   medium +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.FileService/DownloadFile                 file.download            read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.FileService/GetFile                      file.get                 read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.FileService/ListFiles                    file.list                read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/BatchEmbedContents     embedding.create_many    compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/CountTokens            content.count_tokens     compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/EmbedContent           embedding.create         compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/GenerateAnswer         answer.generate          compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/GenerateContent        content.generate         compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.GenerativeService/StreamGenerateContent  content.generate_stream  compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/CreateTunedModel            tuned_model.create       write   high   @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/DeleteTunedModel            tuned_model.delete       write   high   +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/GetModel                    model.get                read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/GetTunedModel               tuned_model.get          read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/ListModels                  model.list               read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/ListTunedModels             tuned_model.list         read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.ModelService/UpdateTunedModel            tuned_model.update       write   medium @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/CreatePermission       permission.create        write   high   @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/DeletePermission       permission.delete        write   high   @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/GetPermission          permission.get           read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/ListPermissions        permission.list          read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/TransferOwnership      tuned_model.transfer     write   high   +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PermissionService/UpdatePermission       permission.update        write   high   @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PredictionService/Predict                prediction.create        compute medium @opaque @same
  POST   /google.ai.generativelanguage.v1beta.PredictionService/PredictLongRunning     prediction.start         compute medium @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/BatchCreateChunks       chunk.create_many        write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/BatchDeleteChunks       chunk.delete_many        write   medium +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/BatchUpdateChunks       chunk.update_many        write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/CreateChunk             chunk.create             write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/CreateCorpus            corpus.create            write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/CreateDocument          document.create          write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/DeleteChunk             chunk.delete             write   medium +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/DeleteCorpus            corpus.delete            write   high   +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/DeleteDocument          document.delete          write   medium +irreversible @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/GetChunk                chunk.get                read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/GetCorpus               corpus.get               read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/GetDocument             document.get             read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/ListChunks              chunk.list               read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/ListCorpora             corpus.list              read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/ListDocuments           document.list            read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/QueryCorpus             corpus.query             read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/QueryDocument           document.query           read    low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/UpdateChunk             chunk.update             write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/UpdateCorpus            corpus.update            write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.RetrieverService/UpdateDocument          document.update          write   low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.TextService/BatchEmbedText               text.embed_many          compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.TextService/CountTextTokens              text.count_tokens        compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.TextService/EmbedText                    text.embed               compute low    @opaque @same
  POST   /google.ai.generativelanguage.v1beta.TextService/GenerateText                 text.generate            compute low    @opaque @same
`
