import type { HandleTable } from './table.ts'

export const LLM_C_HANDLES: HandleTable = {
  connector: 'llm_c',
  hasResourceNames: true,
  unreadCalls:
    /^google\.ai\.generativelanguage\.\w+\.(?:Cache|File|Generative)Service\/(?!List|Count|CreateFile$)\w+$/,
  paths: `
    files           file
    batches         batch
    interactions    interaction
    cachedContents  cache
    fileSearchStores  store
    triggers        trigger
  `,
  fields: `
    fileUri                  file
    file_uri                 file
    uri                      file
    inputConfig.fileName     file
    inputConfig.file_name    file
    input_config.fileName    file
    input_config.file_name   file
    previousInteractionId    interaction
    previous_interaction_id  interaction
    cachedContent            cache
    cached_content           cache
    fileSearchStoreNames.*     store
    file_search_store_names.*  store
  `,
  gives: `
    file.upload                file         file.name
    batch.create               batch        name
    batch.create_embeddings    batch        name
    interaction.create         interaction  id
    interaction.create_stream  interaction  interaction.id
    cached_content.create      cache        name
    file_store.create          store        name
    trigger.create             trigger      id
    trigger_execution.create   interaction  interaction_id
  `,
}
