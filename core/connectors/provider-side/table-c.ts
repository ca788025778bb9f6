import type { ProviderTable } from './table.ts'

export const LLM_C_PROVIDER_SIDE: ProviderTable = {
  connector: 'llm_c',
  source:
    'types of `google-ai-generativelanguage` 0.12.1 (PyPI) and of `@google/genai` 2.18.0 (googleapis/js-genai), read 2026-11-24',
  opaque: [
    ...['args', 'arguments', 'response', 'parameters', 'properties', 'schema', 'responseSchema'],
    ...['response_schema', 'parametersJsonSchema', 'parameters_json_schema', 'responseJsonSchema'],
    ...['response_json_schema', 'metadata', '$defs', 'defs', 'definitions'],
  ],
  // The result of a function is JSON of the caller, or a list of texts and images for the model.
  opaqueObjects: ['result'],
  singleValues: true,
  toolPlaces: ['tools'],
  callerTools: ['tools.*.functionDeclarations', 'tools.*.function_declarations'],
  toolsByName: true,
  // The gateway does not read gRPC messages of these operations. A message may cause any act of a model, or contain
  // content that the provider stores for later requests.
  unreadOperations: [
    ...['content.generate', 'content.generate_stream', 'content.count_tokens', 'answer.generate'],
    ...['embedding.create', 'embedding.create_many', 'prediction.create', 'prediction.start'],
    ...['message.generate', 'message.count_tokens', 'text.generate', 'text.count_tokens'],
    ...['text.embed', 'text.embed_many', 'cached_content.create'],
  ],
  ownFile:
    /^(?:https:\/\/generativelanguage\.googleapis\.com\/v1(?:alpha|beta)?\/)?files\/[a-z0-9-]+(?::download(?:\?alt=media)?)?$/,
  tools: `
    function                  caller
    function_declarations     -
    mcp_server                -
    mcp_servers               -
    google_search             provider_tool.web_search
    google_search_retrieval   provider_tool.web_search
    google_maps               provider_tool.web_search
    enterprise_web_search     provider_tool.web_search
    exa_ai_search             provider_tool.web_search
    parallel_ai_search        provider_tool.web_search
    url_context               provider_tool.web_fetch
    code_execution            provider_tool.code
    computer_use              provider_tool.computer
    file_search               provider_tool.file_search
    retrieval                 provider_tool.file_search,provider_tool.web_search
  `,
  fields: `
    tools.*.url                          provider_tool.mcp    host
    streamableHttpTransport.url          provider_tool.mcp    host
    streamable_http_transport.url        provider_tool.mcp    host
    fileUri                              provider_fetch.url   host
    file_uri                             provider_fetch.url   host
    uri                                  provider_fetch.url   host
    gcsUri                               provider_fetch.url   host
    gcs_uri                              provider_fetch.url   host
    ^.uris.*                             provider_fetch.url   host
    webhook_config.uris.*                provider_fetch.url   host
    webhookConfig.uris.*                 provider_fetch.url   host
    sources.*.source                     provider_fetch.url   host
    semanticRetriever.source             provider_tool.file_search  text
    semantic_retriever.source            provider_tool.file_search  text
    allowlist.*.domain                   provider_tool.code   name
    environment.type                     provider_tool.code   text  =remote
    base_environment.type                provider_tool.code   text  =remote
    baseEnvironment.type                 provider_tool.code   text  =remote
    ^.environment                        provider_tool.code   text
    base_environment                     provider_tool.code   text
    baseEnvironment                      provider_tool.code   text
    interaction.environment              provider_tool.code   text
    interaction.agent                    hosted_agent.run     text
    ^.environment_id                     provider_tool.code   text
    ^.environmentId                      provider_tool.code   text
    externalApi.endpoint                 provider_fetch.url   host
    external_api.endpoint                provider_fetch.url   host
    inputConfig.fileName                 provider_tool.unknown  unread
    inputConfig.file_name                provider_tool.unknown  unread
    input_config.fileName                provider_tool.unknown  unread
    input_config.file_name               provider_tool.unknown  unread
    background                           hosted_agent.run     of=model  =true
    ^.agent                              hosted_agent.run     text
  `,
  operations: `
    trigger.create             hosted_agent.run
    trigger.update             hosted_agent.run  of=trigger
    trigger_execution.create   hosted_agent.run  of=trigger
    batch.create               batch.run
    batch.create_embeddings    batch.run
  `,
}
