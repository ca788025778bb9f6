import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { calculateJwkThumbprint, type JWK } from 'jose'
import type { Query } from '../db/query.ts'
import {
  insertSigningKey,
  listSigningKeys,
  type SigningKeyRow,
} from '../features/tokens/signing-key-store.ts'
import type { Keyring } from './keyring.ts'

/** Ed25519. `publicJwk` has `kid`, `alg`, `use`; it is what gateways and `/.well-known/jwks.json` get. */
export type SigningKey = { readonly kid: string; readonly privateKey: KeyObject; readonly publicJwk: JWK }
export type SigningKeys = {
  /** Signs. */
  readonly current: SigningKey
  /** Verify: the current one and those not yet retired. */
  readonly all: readonly SigningKey[]
}

/** Loads the keys that sign decision tokens and makes the first one. Call it in a transaction. */
export async function loadSigningKeys(q: Query, keyring: Keyring): Promise<SigningKeys> {
  let rows = await listSigningKeys(q)
  if (rows.length === 0) {
    await insertSigningKey(q, await newSigningKey(keyring))
    rows = await listSigningKeys(q)
  }
  const all = rows.map((row) => ({
    kid: row.kid,
    privateKey: createPrivateKey(keyring.open(row.privateKey, row.kid)),
    publicJwk: row.publicJwk,
  }))
  const [current] = all
  if (current === undefined) throw new Error('the signing key that was just made is not in the database')
  return { current, all }
}

/** A key that signs nothing yet; its private half is sealed. */
export async function newSigningKey(keyring: Keyring): Promise<SigningKeyRow> {
  const pair = generateKeyPairSync('ed25519')
  const jwk = pair.publicKey.export({ format: 'jwk' })
  const kid = await calculateJwkThumbprint(jwk as JWK)
  const pem = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return {
    kid,
    alg: 'EdDSA',
    publicJwk: { ...jwk, kid, alg: 'EdDSA', use: 'sig' },
    privateKey: keyring.seal(pem, kid),
  }
}
