import { ChaperoneError } from '../../../core/errors.ts'
import type { Query } from '../../db/query.ts'
import type { ConnectorRow } from '../connectors/rows.ts'
import type { ApplyContext } from './apply-context.ts'
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

/**
 * Replaces or deletes the credential of the Connectors in force that name it in the encrypted store, because the last
 * accepted version of a refused manifest is not applied again. Returns true when one had another.
 */
export async function replaceInForce(
  { q, keyring }: Pick<ApplyContext, 'q' | 'keyring'>,
  name: string,
  secret: string | null,
): Promise<boolean> {
  const { rows } = await q.query<Pick<ConnectorRow, 'id' | 'credential'>>(
    `select id, credential from connectors where source = 'file' and spec #>> '{credential,vault}' = $1`,
    [name],
  )
  const outdated = rows.filter(
    ({ id, credential }) => (credential === null ? null : keyring.open(credential, id)) !== secret,
  )
  for (const { id } of outdated)
    await q.query('update connectors set credential = $2, updated_at = now() where id = $1', [
      id,
      secret === null ? null : JSON.stringify(keyring.seal(secret, id)),
    ])
  return outdated.length > 0
}

/** Throws `conflict` with the reasons when one of the Connectors is refused. */
export function refuseRefused(rows: readonly DesiredRow[]): void {
  const refused = rows.find(({ accepted }) => !accepted)
  if (refused === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `The connector ${fullNameOf(refused)} (${refused.managedBy}) is refused with this credential: ${refused.reasons.join('; ')}.`,
  })
}
