import { createPublicKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { derivePrivateKey } from '../../../crypto/derived-key.ts'
import type { Keyring } from '../../../crypto/keyring.ts'

/** Identity of this installation to push services (RFC 8292, VAPID). */
export type Vapid = {
  /** Uncompressed P-256 point, base64url: the `applicationServerKey` of subscriptions. */
  readonly publicKey: string
  /** Returns the value of the header `Authorization` for a push service. */
  authorization(endpoint: string, nowMs: number): Promise<string>
}

/** Lifetime of an authorization token in seconds. RFC 8292 allows at most a day. */
const TOKEN_LIFE_S = 12 * 3_600

/**
 * Creates the identity of this installation. The key pair is derived from the master key, so that every replica has
 * the same key pair. A changed master key invalidates all subscriptions.
 *
 * @param contact URL of the dashboard; null when it is not configured. Push services of Apple require a contact with
 * https.
 */
export function createVapid(keyring: Keyring, contact: string | null): Vapid {
  const key = derivePrivateKey(keyring, 'web push')
  const publicKey = pointOf(key).toString('base64url')
  const isContact = contact?.startsWith('https:') === true
  return {
    publicKey,
    async authorization(endpoint, nowMs) {
      const claims = { aud: new URL(endpoint).origin, ...(isContact ? { sub: contact } : {}) }
      const token = await new SignJWT(claims)
        .setProtectedHeader({ typ: 'JWT', alg: 'ES256' })
        .setExpirationTime(Math.floor(nowMs / 1_000) + TOKEN_LIFE_S)
        .sign(key)
      return `vapid t=${token}, k=${publicKey}`
    },
  }
}

function pointOf(key: KeyObject): Buffer {
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' })
  return Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
}
