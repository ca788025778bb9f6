import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'

type Row = { readonly source: string; readonly managedBy: string | null }

/**
 * Gateways, Connectors, Permissions and Policies from manifests are changed in their manifest only: anything else the next
 * edit would undo. Throws `conflict`, unless the transaction ends with the changed manifest.
 */
export function refuseManaged(q: Query, row: Row): void {
  if (!q.refusesEdits) refuseManifestRow(row)
}

/** The same for any row. */
export function refuseManifestRow(row: Row): void {
  if (row.source === 'api') return
  const owner = row.managedBy ?? row.source
  throw new ChaperoneError('conflict', {
    error: `Managed by ${owner}; edit the manifest`,
    detail: `It comes from ${owner}: change it there, the change is in force within a second`,
  })
}
