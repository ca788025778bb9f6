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
  /** The root, PEM. Made anew in each process, but always with the same name and key: any of them verifies all. */
  readonly caPem: string
  readonly issuer: Issuer
}

export type CaPurpose = {
  /** What its key is derived for: another purpose is another key. */
  readonly purpose: string
  /** The beginning of its common name; the key's id follows. */
  readonly name: string
  /** How many authorities may stand below it. */
  readonly pathLength: number
  readonly nowMs: number
}

const ROOT_MS = 3_650 * 86_400_000

/**
 * An authority whose key is derived from the master key: every replica has the same one, it rests nowhere, and it never
 * leaves the process.
 */
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

/** Almost every 32 bytes are a private key of P-256; the rest, one in four thousand million, are passed over. */
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

/** The number of points of the curve: a private key is smaller. */
const ORDER = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')

function base64url(point: Buffer, from: number): string {
  return point.subarray(from, from + 32).toString('base64url')
}

/** RFC 5280 method 1: SHA-1 of the public key bits. It names the key and protects nothing. */
export function keyIdOf(spki: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha1').update(spki.subarray(-65)).digest())
}
