import type { JWK } from 'jose'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'

export type SigningKeyRow = {
  readonly kid: string
  readonly alg: string
  readonly publicJwk: JWK
  /** Private key as PKCS #8 PEM, sealed to the key id. */
  readonly privateKey: Sealed
}

/** Lists keys, newest first, without retired ones. Waits for another replica that creates the first key. */
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

/** Retires all keys: they stop signing now, and verify for `afterS` seconds more. */
export async function retireSigningKeys(q: Query, afterS: number): Promise<void> {
  await q.query(
    'update signing_keys set retired_at = now() + make_interval(secs => $1) where retired_at is null',
    [afterS],
  )
}
