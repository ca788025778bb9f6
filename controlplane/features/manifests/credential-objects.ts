import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'
import { type DesiredRow, fullNameOf, getDesiredAll, type ObjectKey } from './store.ts'

/** Lists Connectors of manifest files that name this credential of the encrypted store. */
export async function listOfCredential(q: Query, name: string): Promise<readonly DesiredRow[]> {
  const { rows } = await q.query<ObjectKey>(
    `select kind, namespace, name from manifest_objects
     where kind = 'Connector' and source = 'file' and stored #>> '{spec,credential,vault}' = $1`,
    [name],
  )
  return getDesiredAll(q, rows)
}

/** Throws `conflict` with the reasons when one of the Connectors is refused. */
export function refuseRefused(rows: readonly DesiredRow[]): void {
  const refused = rows.find(({ accepted }) => !accepted)
  if (refused === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `The connector ${fullNameOf(refused)} (${refused.managedBy}) is refused with this credential: ${refused.reasons.join('; ')}.`,
  })
}
