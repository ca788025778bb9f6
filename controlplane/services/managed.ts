import { ChaperoneError } from '../../core/errors.ts'

/** Rows from manifests are changed in their manifest only: anything else the next edit would undo. Throws `conflict`. */
export function refuseManaged(row: { readonly source: string; readonly managedBy: string | null }): void {
  if (row.source === 'api') return
  const owner = row.managedBy ?? row.source
  throw new ChaperoneError('conflict', {
    error: `Managed by ${owner}; edit the manifest`,
    detail: `It comes from ${owner}: change it there, the change is in force within a second`,
  })
}
