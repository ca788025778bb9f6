import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import * as der from './der.ts'

const OIDS = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const

const DAY_MS = 86_400_000
const VERSION_3 = der.explicit(0, der.unsigned(Buffer.from([2])))
const ES256 = der.sequence(der.oid(OIDS.ecdsaWithSha256))
const ORGANIZATION = nameAttribute(OIDS.organization, 'Chaperone')

/** Who signs: the private key, its DER name and its key identifier. */
export type Issuer = { readonly key: KeyObject; readonly name: Buffer; readonly keyId: Buffer }

/** A self-signed P-256 root, valid from a day ago for ten years. Returns DER. */
export function makeRoot(key: KeyObject, spki: Buffer, commonName: string, nowMs: number): Buffer {
  const name = der.sequence(ORGANIZATION, nameAttribute(OIDS.commonName, commonName))
  const keyId = keyIdentifier(spki)
  const extensions = [
    extension(OIDS.basicConstraints, der.sequence(der.boolean(true), der.unsigned(Buffer.from([0]))), true),
    // keyCertSign and cRLSign
    extension(OIDS.keyUsage, der.bitString(Buffer.from([0x06]), 1), true),
    extension(OIDS.subjectKeyIdentifier, der.octetString(keyId)),
    extension(OIDS.authorityKeyIdentifier, der.sequence(der.implicit(0, keyId))),
  ]
  const validity = der.sequence(der.time(nowMs - DAY_MS), der.time(nowMs + 3650 * DAY_MS))
  return signed({ key, name, keyId }, [validity, name, spki], extensions)
}

/**
 * Prepares everything of a leaf that is the same for every host, so that a leaf costs one signature.
 * The result returns DER, valid from a day before `nowMs` until `notAfterMs`.
 */
export function leafTemplate(
  issuer: Issuer,
  spki: Buffer,
): (host: string, nowMs: number, notAfterMs: number) => Buffer {
  const common = [
    extension(OIDS.basicConstraints, der.sequence(), true),
    // digitalSignature
    extension(OIDS.keyUsage, der.bitString(Buffer.from([0x80]), 7), true),
    extension(OIDS.extendedKeyUsage, der.sequence(der.oid(OIDS.serverAuth))),
    extension(OIDS.subjectKeyIdentifier, der.octetString(keyIdentifier(spki))),
    extension(OIDS.authorityKeyIdentifier, der.sequence(der.implicit(0, issuer.keyId))),
  ]
  return (host, nowMs, notAfterMs) => {
    const validity = der.sequence(der.time(nowMs - DAY_MS), der.time(notAfterMs))
    const names = extension(OIDS.subjectAltName, der.sequence(generalName(host)))
    return signed(issuer, [validity, leafSubject(host), spki], [...common, names])
  }
}

/** RFC 5280 method 1: SHA-1 of the public key bits. It names the key and protects nothing. */
export function keyIdentifier(spki: Buffer): Buffer {
  // A P-256 SubjectPublicKeyInfo ends with the 65 bytes of the uncompressed point.
  return createHash('sha1').update(spki.subarray(-65)).digest()
}

function signed(issuer: Issuer, subject: readonly Buffer[], extensions: readonly Buffer[]): Buffer {
  const serial = randomBytes(16)
  // Positive and of constant length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = der.sequence(
    VERSION_3,
    der.unsigned(serial),
    ES256,
    issuer.name,
    ...subject,
    der.explicit(3, der.sequence(...extensions)),
  )
  return der.sequence(body, ES256, der.bitString(sign('sha256', body, issuer.key)))
}

function extension(id: string, value: Buffer, isCritical = false): Buffer {
  const critical = isCritical ? [der.boolean(true)] : []
  return der.sequence(der.oid(id), ...critical, der.octetString(value))
}

function nameAttribute(id: string, value: string): Buffer {
  return der.set(der.sequence(der.oid(id), der.utf8String(value)))
}

/** Clients read the alternative name; the common name is for people, and X.509 caps it at 64 characters. */
function leafSubject(host: string): Buffer {
  if (host.length > 64) return der.sequence(ORGANIZATION)
  return der.sequence(ORGANIZATION, nameAttribute(OIDS.commonName, host))
}

function generalName(host: string): Buffer {
  if (isIPv4(host)) return der.implicit(7, Buffer.from(host.split('.').map(Number)))
  if (isIPv6(host)) return der.implicit(7, ipv6Bytes(host))
  return der.implicit(2, Buffer.from(host, 'latin1'))
}

function ipv6Bytes(address: string): Buffer {
  // The URL parser writes every spelling (zone aside) as groups of hex, an embedded IPv4 included.
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const out = Buffer.alloc(16)
  for (const [i, group] of [...before, ...gap, ...after].entries())
    out.writeUInt16BE(Number.parseInt(group, 16), i * 2)
  return out
}
