import type { Action } from '../../action/action.ts'
import type { UploadReader } from '../fields/body-readers.ts'
import { isBatchUpload, readBatchFile, UNREAD_FILE, unreadAct } from './batch-file.ts'
import { isReadForm, readForm } from './form.ts'
import type { CompiledTable } from './table.ts'

/**
 * Returns the reader for a body that is not JSON and may cause acts in these operations; null if none of them reads
 * such bodies.
 */
export function uploadReader(table: CompiledTable, actions: readonly Action[]): UploadReader | null {
  if (actions.some(({ type }) => isBatchUpload(table, type))) return reader(table, readBatchFile, UNREAD_FILE)
  return actions.some(({ type }) => isReadForm(table, type)) ? reader(table, readForm, UNREAD_FORM) : null
}

const UNREAD_FORM = 'a form that is too long to be read and may contain tools and URLs'

/**
 * Creates an upload reader. A body beyond the size limit (`bytes` null) may cause any act, so `unread` describes it.
 */
function reader(table: CompiledTable, read: typeof readForm, unread: string): UploadReader {
  return function* (bytes, type) {
    return bytes === null ? [unreadAct(unread)] : yield* read(table, bytes, type)
  }
}
