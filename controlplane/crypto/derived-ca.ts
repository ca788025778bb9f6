import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { authorityName, type Issuer, rootCertificate, type Signer } from '../../core/x509/certificate.ts'
import { pem } from '../../core/x509/der.ts'
import type { Keyring } from './keyring.ts'

export type DerivedCa = {
  /**
   * The root certificate, PEM. Each process creates its own, with the same name and key, so that any of them verifies
   * all chains.
   */
  readonly caPem: string
  readonly issuer: Issuer
}

export type CaPurpose = {
  /** Input of the key derivation; a different purpose gives a different key. */
  readonly purpose: string
  /** Prefix of the common name, before the key id. */
  readonly name: string
  /** Maximum number of intermediate CAs below it (`pathLenConstraint`). */
  readonly pathLength: number
  readonly nowMs: number
}

const ROOT_MS = 3_650 * 86_400_000

/** Creates a CA whose key is derived from the master key. Every replica derives the same key, which is never stored. */
export function createDerivedCa(
  keyring: Keyring,
  { purpose, name, pathLength, nowMs }: CaPurpose,
): DerivedCa {
  const key = deriveKey(keyring, purpose)
  const spki = new Uint8Array(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const keyId = keyIdOf(spki)
  const signer: Signer = {
    sign: (body) => sign('sha256', body, key),
    randomSerial: () => randomBytes(16),
  }
  const commonName = `${name} ${Buffer.from(keyId).toString('hex', 0, 4)}`
  const period = { nowMs, notAfterMs: nowMs + ROOT_MS }
  const root = rootCertificate(signer, { spki, keyId }, { commonName, pathLength, ...period })
  return { caPem: pem('CERTIFICATE', root), issuer: { ...signer, keyId, name: authorityName(commonName) } }
}

/** Derives a P-256 private key. A value outside the range of the curve (about 1 in 2^32) is skipped. */
function deriveKey(keyring: Keyring, purpose: string): KeyObject {
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

/** Order of P-256. Private keys are smaller. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')

function base64url(point: Buffer, from: number): string {
  return point.subarray(from, from + 32).toString('base64url')
}

/**
 * Returns the key identifier by RFC 5280 4.2.1.2 method 1: SHA-1 of the public key bits. SHA-1 is not used for security
 * here.
 */
export function keyIdOf(spki: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha1').update(spki.subarray(-65)).digest())
}
