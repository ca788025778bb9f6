import type { Action } from '../../action/action.ts'
import type { UploadReader } from '../fields/body-readers.ts'
import { isBatchUpload, readBatchFile, UNREAD_FILE, unreadAct } from './batch-file.ts'
import { isReadForm, readFileForm, readForm, UNREAD_IDS } from './form.ts'
import type { UploadRules } from './upload-findings.ts'

/**
 * Returns the reader for a body that is not JSON and that may cause acts or name handles. Null if none of the
 * operations accepts such a body. `fileForms`: types of actions whose forms contain ids in addition to a file.
 */
export function uploadReader(
  rules: UploadRules,
  actions: readonly Action[],
  fileForms: readonly string[],
): UploadReader | null {
  const { table } = rules
  if (actions.some(({ type }) => isBatchUpload(table, type))) return reader(rules, readBatchFile, UNREAD_FILE)
  if (actions.some(({ type }) => isReadForm(table, type))) return reader(rules, readForm, UNREAD_FORM)
  if (!actions.some(({ type }) => fileForms.includes(type))) return null
  return function* (bytes, type) {
    return bytes === null ? UNREAD_IDS : yield* readFileForm(rules, bytes, type)
  }
}

const UNREAD_FORM =
  'a form that is too long for the gateway to read and may contain tools that the provider runs or URLs that it fetches'

/**
 * Creates an upload reader. A body beyond the size limit (`bytes` null) may cause any provider-side act. The reader
 * describes such a body with the text `unread`.
 */
function reader(rules: UploadRules, read: typeof readForm, unread: string): UploadReader {
  return function* (bytes, type) {
    return bytes === null ? { acts: [unreadAct(unread)], handles: 'unread' } : yield* read(rules, bytes, type)
  }
}
