import type { HandleTable } from './table.ts'

export const LLM_B_HANDLES: HandleTable = {
  connector: 'llm_b',
  paths: `
    files          file
    batches        batch
    sessions       session
    memory_stores  memory_store
    dreams         dream
  `,
  fields: `
    file_id          file
    file_ids.*       file
    session_id       session
    session_ids.*    session
    memory_store_id  memory_store
    container        container
    container.id     container
    # The provider keeps the conversation before this message.
    thread.previous_message_id  message
  `,
  gives: `
    file.upload          file          id
    batch.create         batch         id
    session.create       session       id
    deployment.run       session       session_id
    memory_store.create  memory_store  id
    dream.create         dream         id
    message.create         message     id          if=thread.type
    message.create_stream  message     message.id  if=thread.type
    # The last event of a stream has the container. Newer versions of the web tools run code, too.
    message.create         container   container.id        with=provider_tool.code|provider_tool.web_search|provider_tool.web_fetch
    message.create_stream  container   delta.container.id  with=provider_tool.code|provider_tool.web_search|provider_tool.web_fetch
  `,
}
