import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'
import { EditedInYaml } from './editing/edited-in-yaml.ts'

type Row = { readonly source: string; readonly managedBy: string | null }

/**
 * Throws `conflict` for a row that a manifest defines, because the next push of the manifest would revert the change.
 * Does nothing in a transaction of the editing guard (where users may edit in YAML only), whose own error contains the
 * manifests to commit.
 */
export function refuseManaged(q: Query, row: Row): void {
  if (!q.refusesEdits) refuseManifestRow(row)
}

/** Throws `conflict` for a row that a manifest defines, whether or not the transaction has an editing guard. */
export function refuseManifestRow(row: Row): void {
  if (row.source === 'api') return
  const owner = row.managedBy ?? row.source
  throw new ChaperoneError('conflict', {
    error: `Managed by ${owner}; edit the manifest`,
    detail: `This object is managed by ${owner}. Edit its manifest; the change is in force within a second.`,
  })
}

/**
 * Returns the error (`conflict`) for an edit that an object of another owner prevents. `reason`: a clause without a
 * full stop. Where users may edit in YAML only, the error contains the remedy for the manifest (`inYaml`), otherwise
 * the remedy for the API (`inApi`).
 */
export function preventedEdit(
  q: Query,
  reason: string,
  remedy: { readonly inYaml: string; readonly inApi: string },
): ChaperoneError {
  if (q.refusesEdits) return new EditedInYaml({ remedy: `${reason}. ${remedy.inYaml}` })
  return new ChaperoneError('conflict', { detail: `${reason}. ${remedy.inApi}` })
}
