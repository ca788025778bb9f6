import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import {
  type PublicKey,
  rootCertificate,
  type Signer,
  leafTemplate as template,
} from '../../core/x509/certificate.ts'

const DAY_MS = 86_400_000

/** Issuer of a certificate: private key, DER name and key identifier. */
export type Issuer = { readonly key: KeyObject; readonly name: Uint8Array; readonly keyId: Uint8Array }

/** Returns the DER of a self-signed P-256 root, valid from a day ago for ten years. */
export function makeRoot(key: KeyObject, spki: Uint8Array, commonName: string, nowMs: number): Uint8Array {
  const notAfterMs = nowMs + 3650 * DAY_MS
  return rootCertificate(signerOf(key), publicKey(spki), { commonName, nowMs, notAfterMs })
}

/**
 * Returns a template for DER leaves that are valid from a day before `nowMs` until `notAfterMs`. With the template, a
 * leaf costs one signature.
 */
export function leafTemplate(
  { key, name, keyId }: Issuer,
  spki: Uint8Array,
): (host: string, nowMs: number, notAfterMs: number) => Uint8Array {
  const leaf = template({ ...signerOf(key), name, keyId }, publicKey(spki))
  return (host, nowMs, notAfterMs) => leaf([host], { nowMs, notAfterMs })
}

/**
 * Returns the key identifier: SHA-1 of the public key bits (RFC 5280, section 4.2.1.2, method 1). No security property
 * depends on the identifier.
 */
export function keyIdentifier(spki: Uint8Array): Uint8Array {
  // A P-256 SubjectPublicKeyInfo ends with the 65 bytes of the uncompressed point.
  return createHash('sha1').update(spki.subarray(-65)).digest()
}

function publicKey(spki: Uint8Array): PublicKey {
  return { spki, keyId: keyIdentifier(spki) }
}

function signerOf(key: KeyObject): Signer {
  return { sign: (body) => sign('sha256', body, key), randomSerial: () => randomBytes(16) }
}
