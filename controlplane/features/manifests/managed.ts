import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'

type Row = { readonly source: string; readonly managedBy: string | null }

/**
 * Refuses changes of rows from manifests, which the next edit of the manifest would revert. Throws `conflict`, unless
 * the editing guard refuses the transaction anyway, with the changed manifest.
 */
export function refuseManaged(q: Query, row: Row): void {
  if (!q.refusesEdits) refuseManifestRow(row)
}

/** Refuses changes of rows from manifests in every transaction. */
export function refuseManifestRow(row: Row): void {
  if (row.source === 'api') return
  const owner = row.managedBy ?? row.source
  throw new ChaperoneError('conflict', {
    error: `Managed by ${owner}; edit the manifest`,
    detail: `It comes from ${owner}: change it there, the change is in force within a second`,
  })
}
