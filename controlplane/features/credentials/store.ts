import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'

export async function putCredential(
  q: Query,
  orgId: string,
  { name, secret }: { readonly name: string; readonly secret: Sealed },
): Promise<void> {
  await q.query(
    `insert into credentials (org_id, name, secret) values ($1, $2, $3)
     on conflict (org_id, name) do update set secret = excluded.secret, updated_at = now()`,
    [orgId, name, JSON.stringify(secret)],
  )
}

export async function deleteCredential(q: Query, orgId: string, name: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from credentials where org_id = $1 and name = $2', [orgId, name])
  return rowCount > 0
}

/**
 * Replaces or deletes the credential of a connector that was created through the API. The caller must encrypt
 * the credential for the id of the connector. Returns false when there is no such connector.
 */
export async function setConnectorCredential(
  q: Query,
  id: string,
  credential: Sealed | null,
): Promise<boolean> {
  const { rowCount } = await q.query(
    `update connectors set credential = $2, updated_at = now() where id = $1 and source = 'api'`,
    [id, credential === null ? null : JSON.stringify(credential)],
  )
  return rowCount > 0
}
