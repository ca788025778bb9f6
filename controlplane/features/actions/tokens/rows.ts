import type { Query } from '../../../db/query.ts'
import type { PublicKeyRow } from './public-key-store.ts'

/**
 * Lists the public keys of decision tokens. Keys that were retired within the last day are included, because their
 * tokens may still be valid.
 */
export async function listPublicKeys(q: Query): Promise<readonly PublicKeyRow[]> {
  const { rows } = await q.query<PublicKeyRow>(
    `select kid, public_jwk as jwk from signing_keys
     where retired_at is null or retired_at > now() - interval '1 day' order by kid`,
    [],
  )
  return rows
}
