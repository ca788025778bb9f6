import type { HandleTable } from './table.ts'

export const LLM_B_HANDLES: HandleTable = {
  connector: 'llm_b',
  paths: `
    files          file
    batches        batch
    sessions       session
    memory_stores  memory_store
  `,
  fields: `
    file_id          file
    file_ids.*       file
    session_id       session
    session_ids.*    session
    memory_store_id  memory_store
  `,
  gives: `
    file.upload          file          id
    batch.create         batch         id
    session.create       session       id
    deployment.run       session       session_id
    memory_store.create  memory_store  id
  `,
}
