import { parseAddress } from '../request/address.ts'
import * as der from './der.ts'
import { nameConstraints, type PermittedNames } from './name-constraints.ts'

const OIDS = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const

const DAY_MS = 86_400_000
const VERSION_3 = der.explicit(0, der.unsigned(Uint8Array.of(2)))
const ES256 = der.sequence(der.oid(OIDS.ecdsaWithSha256))
const ORGANIZATION = nameAttribute(OIDS.organization, 'Chaperone')

/** Functions that need a private key or randomness, which core does not have. */
export type Signer = {
  /** Returns an ECDSA P-256 signature with SHA-256 over the bytes, as DER. */
  readonly sign: (body: Uint8Array) => Uint8Array
  /** Returns sixteen random bytes for a serial number. */
  readonly randomSerial: () => Uint8Array
}

/** Issuer of certificates: its DER name, its key identifier, and its signer. */
export type Issuer = Signer & { readonly name: Uint8Array; readonly keyId: Uint8Array }

/** Public key of a subject: DER SubjectPublicKeyInfo, and the SHA-1 of the key bits (RFC 5280 method 1). */
export type PublicKey = { readonly spki: Uint8Array; readonly keyId: Uint8Array }

/**
 * Period of validity, in Unix milliseconds. A certificate is valid from one day before `nowMs`, because clocks of
 * clients differ.
 */
export type Validity = { readonly nowMs: number; readonly notAfterMs: number }

/**
 * Creates a self-signed P-256 root certificate, as DER. `pathLength` is the maximum depth of certificate authorities
 * below the root; the default is 0.
 */
export function rootCertificate(
  signer: Signer,
  { spki, keyId }: PublicKey,
  {
    commonName,
    pathLength = 0,
    ...period
  }: Validity & { readonly commonName: string; readonly pathLength?: number },
): Uint8Array {
  const name = caName(commonName)
  const extensions = caExtensions({ pathLength, keyId, issuerKeyId: keyId })
  return signed({ ...signer, name, keyId }, [validity(period), name, spki], extensions)
}

/**
 * Creates a certificate authority (CA) below another one, for the key of another process, as DER. The CA can sign only
 * leaf certificates, and clients accept these only for the permitted names.
 */
export function intermediateCertificate(
  issuer: Issuer,
  { spki, keyId }: PublicKey,
  {
    commonName,
    permitted,
    ...period
  }: Validity & { readonly commonName: string; readonly permitted: PermittedNames },
): Uint8Array {
  const constraints = extension(OIDS.nameConstraints, nameConstraints(permitted), true)
  const common = caExtensions({ pathLength: 0, keyId, issuerKeyId: issuer.keyId })
  return signed(issuer, [validity(period), caName(commonName), spki], [...common, constraints])
}

/** Returns the DER name of a certificate authority. */
export function caName(commonName: string): Uint8Array {
  return der.sequence(ORGANIZATION, nameAttribute(OIDS.commonName, commonName))
}

type CaIdentity = {
  readonly pathLength: number
  readonly keyId: Uint8Array
  readonly issuerKeyId: Uint8Array
}

function caExtensions({ pathLength, keyId, issuerKeyId }: CaIdentity): readonly Uint8Array[] {
  const limits = der.sequence(der.boolean(true), der.unsigned(Uint8Array.of(pathLength)))
  return [
    extension(OIDS.basicConstraints, limits, true),
    // The bits of the key usage are keyCertSign and cRLSign.
    extension(OIDS.keyUsage, der.bitString(Uint8Array.of(0x06), 1), true),
    extension(OIDS.subjectKeyIdentifier, der.octetString(keyId)),
    extension(OIDS.authorityKeyIdentifier, der.sequence(der.implicit(0, issuerKeyId))),
  ]
}

/**
 * Returns a function that issues certificates of servers, as DER, for host names or IP addresses. The first name is
 * the subject. The function encodes the parts that are equal for all hosts only once, so that a certificate costs
 * little more than one signature.
 */
export function leafTemplate(
  issuer: Issuer,
  { spki, keyId }: PublicKey,
): (hosts: readonly [string, ...string[]], period: Validity) => Uint8Array {
  const common = [
    extension(OIDS.basicConstraints, der.sequence(), true),
    // The bit of the key usage is digitalSignature.
    extension(OIDS.keyUsage, der.bitString(Uint8Array.of(0x80), 7), true),
    extension(OIDS.extendedKeyUsage, der.sequence(der.oid(OIDS.serverAuth))),
    extension(OIDS.subjectKeyIdentifier, der.octetString(keyId)),
    extension(OIDS.authorityKeyIdentifier, der.sequence(der.implicit(0, issuer.keyId))),
  ]
  return (hosts, period) => {
    const names = extension(OIDS.subjectAltName, der.sequence(...hosts.map(generalName)))
    return signed(issuer, [validity(period), leafSubject(hosts[0]), spki], [...common, names])
  }
}

function signed(
  issuer: Issuer,
  subject: readonly Uint8Array[],
  extensions: readonly Uint8Array[],
): Uint8Array {
  const serial = Uint8Array.from(issuer.randomSerial())
  // Clears the sign bit and sets the next bit, so that serial numbers are positive and of constant length.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const body = der.sequence(
    VERSION_3,
    der.unsigned(serial),
    ES256,
    issuer.name,
    ...subject,
    der.explicit(3, der.sequence(...extensions)),
  )
  return der.sequence(body, ES256, der.bitString(issuer.sign(body)))
}

function validity({ nowMs, notAfterMs }: Validity): Uint8Array {
  return der.sequence(der.time(nowMs - DAY_MS), der.time(notAfterMs))
}

function extension(id: string, value: Uint8Array, isCritical = false): Uint8Array {
  const critical = isCritical ? [der.boolean(true)] : []
  return der.sequence(der.oid(id), ...critical, der.octetString(value))
}

function nameAttribute(id: string, value: string): Uint8Array {
  return der.set(der.sequence(der.oid(id), der.utf8String(value)))
}

/**
 * Returns the subject of a server's certificate. Clients check the alternative names. The common name is only
 * informative, and X.509 limits it to 64 characters. The subject for an IP address has no common name, because OpenSSL
 * would check the common name against the permitted DNS names if no alternative name is a DNS name.
 */
function leafSubject(host: string): Uint8Array {
  if (host.length > 64 || parseAddress(host) !== null) return der.sequence(ORGANIZATION)
  return der.sequence(ORGANIZATION, nameAttribute(OIDS.commonName, host))
}

function generalName(host: string): Uint8Array {
  const address = parseAddress(host)
  return address === null ? der.implicit(2, der.ascii(host)) : der.implicit(7, address)
}
