import { createHash, createPublicKey, randomBytes, sign } from 'node:crypto'
import { caName, type Issuer, rootCertificate, type Signer } from '../../core/x509/certificate.ts'
import { pem } from '../../core/x509/der.ts'
import { derivePrivateKey } from './derived-key.ts'
import type { Keyring } from './keyring.ts'

export type DerivedCa = {
  /**
   * Root certificate, PEM. Each process creates its own root certificate. All of them have the same name and key, so
   * each of them verifies the certificate chains of every process.
   */
  readonly caPem: string
  readonly issuer: Issuer
}

export type CaPurpose = {
  /** Purpose of the CA, as input of the key derivation. Different purposes give different keys. */
  readonly purpose: string
  /** Prefix of the common name of the CA. In the common name, the key id follows the prefix. */
  readonly name: string
  /** Maximum number of intermediate CAs below the root (`pathLenConstraint`). */
  readonly pathLength: number
  readonly nowMs: number
}

const ROOT_MS = 3_650 * 86_400_000

/**
 * Creates a CA whose private key is derived from the master key. Every replica derives the same key, so the key is
 * never stored.
 */
export function createDerivedCa(
  keyring: Keyring,
  { purpose, name, pathLength, nowMs }: CaPurpose,
): DerivedCa {
  const key = derivePrivateKey(keyring, purpose)
  const spki = new Uint8Array(createPublicKey(key).export({ type: 'spki', format: 'der' }))
  const keyId = keyIdOf(spki)
  const signer: Signer = {
    sign: (body) => sign('sha256', body, key),
    randomSerial: () => randomBytes(16),
  }
  const commonName = `${name} ${Buffer.from(keyId).toString('hex', 0, 4)}`
  const period = { nowMs, notAfterMs: nowMs + ROOT_MS }
  const root = rootCertificate(signer, { spki, keyId }, { commonName, pathLength, ...period })
  return { caPem: pem('CERTIFICATE', root), issuer: { ...signer, keyId, name: caName(commonName) } }
}

/**
 * Returns the key identifier by method 1 of RFC 5280, section 4.2.1.2: the SHA-1 of the public key bits. The identifier
 * only names the key, so its security does not depend on SHA-1.
 */
export function keyIdOf(spki: Uint8Array): Uint8Array {
  return new Uint8Array(createHash('sha1').update(spki.subarray(-65)).digest())
}
