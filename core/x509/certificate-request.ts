import { caName } from './certificate.ts'
import * as der from './der.ts'
import { elementAt } from './der-reader.ts'

const ES256 = der.sequence(der.oid('1.2.840.10045.4.3.2'))
const VERSION_1 = der.unsigned(Uint8Array.of(0))
/** DER of a SubjectPublicKeyInfo before the bytes of the key. It is equal for every uncompressed P-256 key. */
const P256_PREFIX = Uint8Array.from([
  ...[0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01],
  ...[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04],
])
const POINT_BYTES = 64

/**
 * Parsed certificate request: signed data, public key and signature. A valid signature proves that the sender of the
 * request has the private key.
 */
export type CertificateRequest = {
  readonly info: Uint8Array
  readonly spki: Uint8Array
  readonly signature: Uint8Array
}

/**
 * Creates a PKCS#10 request for a P-256 key, as DER. `sign` returns an ECDSA signature with SHA-256 over its argument,
 * as DER.
 */
export function certificateRequest(
  spki: Uint8Array,
  commonName: string,
  sign: (body: Uint8Array) => Uint8Array,
): Uint8Array {
  const info = der.sequence(VERSION_1, caName(commonName), spki, der.element(0xa0))
  return der.sequence(info, ES256, der.bitString(sign(info)))
}

/**
 * Parses a PKCS#10 request. Returns null unless the request has a P-256 key and an ECDSA signature. Ignores subject and
 * attributes, because the issuer determines the content of the certificate. Does not verify the signature.
 */
export function readCertificateRequest(bytes: Uint8Array): CertificateRequest | null {
  const whole = elementAt(bytes, 0)
  if (whole?.tag !== 0x30 || whole.end !== bytes.length) return null
  const info = elementAt(bytes, whole.start)
  const algorithm = info && elementAt(bytes, info.end)
  const signature = algorithm && elementAt(bytes, algorithm.end)
  if (!info || !algorithm || signature?.tag !== 0x03 || signature.end !== bytes.length) return null
  const spki = publicKeyOf(bytes, info.start)
  if (spki === null || !isSame(bytes.subarray(info.end, algorithm.end), ES256)) return null
  return {
    info: bytes.subarray(whole.start, info.end),
    spki,
    signature: bytes.subarray(signature.start + 1, signature.end),
  }
}

/**
 * Returns the public key in a CertificationRequestInfo, whose fields are version, subject, subjectPKInfo and
 * attributes.
 */
function publicKeyOf(bytes: Uint8Array, start: number): Uint8Array | null {
  const version = elementAt(bytes, start)
  const subject = version && elementAt(bytes, version.end)
  const key = subject && elementAt(bytes, subject.end)
  if (!subject || !key) return null
  const spki = bytes.subarray(subject.end, key.end)
  const isP256 = spki.length === P256_PREFIX.length + POINT_BYTES
  return isP256 && isSame(spki.subarray(0, P256_PREFIX.length), P256_PREFIX) ? spki : null
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
