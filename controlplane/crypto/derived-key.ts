import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto'
import type { Keyring } from './keyring.ts'

/**
 * Derives a P-256 private key from the master key. Every process derives the same key. `purpose`: different purposes
 * give different keys. Skips a derived value outside the range of the curve order, which occurs about once in 2^32
 * attempts.
 */
export function derivePrivateKey(keyring: Keyring, purpose: string): KeyObject {
  const ecdh = createECDH('prime256v1')
  for (let attempt = 0; ; attempt++) {
    const secret = keyring.derive(`${purpose} ${attempt}`)
    if (secret.compare(ORDER) >= 0 || secret.every((byte) => byte === 0)) continue
    ecdh.setPrivateKey(secret)
    const point = ecdh.getPublicKey()
    const jwk = {
      kty: 'EC',
      crv: 'P-256',
      d: secret.toString('base64url'),
      x: base64url(point, 1),
      y: base64url(point, 33),
    }
    return createPrivateKey({ key: jwk, format: 'jwk' })
  }
}

/** Order of the curve P-256. Every private key is smaller than this number. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')

function base64url(point: Buffer, from: number): string {
  return point.subarray(from, from + 32).toString('base64url')
}
