import type { JWK } from 'jose'
import type { Sealed } from '../../../crypto/sealed.ts'
import type { Query } from '../../../db/query.ts'

export type SigningKeyRow = {
  readonly kid: string
  readonly alg: string
  readonly publicJwk: JWK
  /** Private key as PKCS #8 PEM, encrypted with the key id as additional authenticated data. */
  readonly privateKey: Sealed
}

/**
 * Lists the keys that are not retired, newest first. If another replica is creating the first key, waits
 * until that transaction ends.
 */
export async function listSigningKeys(q: Query): Promise<readonly SigningKeyRow[]> {
  await q.query('lock table signing_keys in share row exclusive mode')
  const { rows } = await q.query<SigningKeyRow>(
    `select kid, alg, public_jwk as "publicJwk", private_key as "privateKey" from signing_keys
     where retired_at is null or retired_at > now() order by created_at desc, kid`,
    [],
  )
  return rows
}

export async function insertSigningKey(q: Query, row: SigningKeyRow): Promise<void> {
  await q.query('insert into signing_keys (kid, alg, public_jwk, private_key) values ($1, $2, $3, $4)', [
    row.kid,
    row.alg,
    JSON.stringify(row.publicJwk),
    JSON.stringify(row.privateKey),
  ])
}

/** Retires all keys. A retired key signs no new tokens, and verifies tokens for `afterS` more seconds. */
export async function retireSigningKeys(q: Query, afterS: number): Promise<void> {
  await q.query(
    'update signing_keys set retired_at = now() + make_interval(secs => $1) where retired_at is null',
    [afterS],
  )
}
