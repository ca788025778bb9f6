import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Keyring } from '../../../crypto/keyring.ts'
import { sealedPlace } from '../../../crypto/sealed-places.ts'
import type { Query } from '../../../db/query.ts'
import { insertSigningKey, listSigningKeys, type SigningKeyRow } from './signing-key-store.ts'

/**
 * An Ed25519 signing key. `publicJwk` contains `kid`, `alg` and `use`. Gateways and readers of `/.well-known/jwks.json`
 * receive `publicJwk`.
 */
export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicJwk: JWK }
export type SigningKeys = {
  /** Key that signs new decision tokens. */
  readonly current: SigningKey
  /** Keys that are not retired, including `current`. Each of these keys verifies decision tokens. */
  readonly all: readonly SigningKey[]
}

/**
 * Loads the keys that sign decision tokens. Creates the first key when there are no keys. Must be called in a
 * transaction.
 */
export async function loadSigningKeys(q: Query, keyring: Keyring): Promise<SigningKeys> {
  let rows = await listSigningKeys(q)
  if (rows.length === 0) {
    await insertSigningKey(q, await newSigningKey(keyring))
    rows = await listSigningKeys(q)
  }
  const all = rows.map((row) => ({
    kid: row.kid,
    privateKey: createPrivateKey(keyring.open(row.privateKey, sealedPlace.signingKey(row.kid))),
    publicJwk: row.publicJwk,
  }))
  const [current] = all
  if (current === undefined)
    throw new Error(
      'The signing key that was just created cannot be read from the database, so no decision token can be signed. Try again.',
    )
  return { current, all }
}

/** Creates a signing key with an encrypted private key. */
export async function newSigningKey(keyring: Keyring): Promise<SigningKeyRow> {
  const pair = generateKeyPairSync('ed25519')
  const jwk = pair.publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint(jwk as JWK)
  const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    kid,
    alg: 'EdDSA',
    publicJwk: { ...jwk, kid, alg: 'EdDSA', use: 'sig' },
    privateKey: keyring.seal(pem, sealedPlace.signingKey(kid)),
  }
}
