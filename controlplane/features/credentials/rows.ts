import type { Keyring } from '../../crypto/keyring.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'

/** A credential in the encrypted store. Manifests name it in `credential.vault`. */
export type CredentialRow = { readonly name: string; readonly secret: Sealed; readonly updatedAt: Date }

type Place = { readonly orgId: string; readonly keyring: Keyring }

/** Returns the context (additional authenticated data) with which a credential of the store is encrypted. */
export function credentialPlace(name: string): string {
  return `credential/${name}`
}

export async function listCredentials(q: Query, orgId: string): Promise<readonly CredentialRow[]> {
  const { rows } = await q.query<CredentialRow>(
    'select name, secret, updated_at as "updatedAt" from credentials where org_id = $1 order by name',
    [orgId],
  )
  return rows
}

/** Returns the credential in plain text; null when the store has none of this name. */
export async function readCredential(
  q: Query,
  { orgId, keyring }: Place,
  name: string,
): Promise<string | null> {
  const { rows } = await q.query<Pick<CredentialRow, 'secret'>>(
    'select secret from credentials where org_id = $1 and name = $2',
    [orgId, name],
  )
  const [row] = rows
  return row === undefined ? null : keyring.open(row.secret, credentialPlace(name))
}
