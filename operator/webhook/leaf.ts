import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { leafTemplate, rootCertificate, type Signer } from '../../core/x509/certificate.ts'
import { certificateSubject } from '../../core/x509/certificate-subject.ts'
import { pem } from '../../core/x509/der.ts'

const DAY_MS = 86_400_000
export const CA_LIFETIME_MS = 365 * DAY_MS
export const LEAF_LIFETIME_MS = 7 * DAY_MS

export type CertificateAuthority = { readonly certPem: string; readonly keyPem: string }
/** A leaf certificate. Times in Unix milliseconds. */
export type Leaf = {
  readonly certPem: string
  readonly keyPem: string
  readonly madeAtMs: number
  readonly notAfterMs: number
}

/** Creates a P-256 certificate authority with a unique name. */
export function createCertificateAuthority(nowMs: number): CertificateAuthority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = rootCertificate(signerOf(privateKey), publicPart(publicKey), {
    commonName: `Chaperone webhooks ${randomBytes(4).toString('hex')}`,
    nowMs,
    notAfterMs: nowMs + CA_LIFETIME_MS,
  })
  return { certPem: pem('CERTIFICATE', certificate), keyPem: pkcs8(privateKey) }
}

/** Issues a leaf certificate for these hosts. Its private key never leaves the process. */
export function issueLeaf(
  ca: CertificateAuthority,
  hosts: readonly [string, ...string[]],
  nowMs: number,
): Leaf {
  const issuer = new X509Certificate(ca.certPem)
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const notAfterMs = Math.min(nowMs + LEAF_LIFETIME_MS, Date.parse(issuer.validTo))
  const template = leafTemplate(
    {
      ...signerOf(createPrivateKey(ca.keyPem)),
      name: certificateSubject(issuer.raw),
      keyId: publicPart(issuer.publicKey).keyId,
    },
    publicPart(publicKey),
  )
  const certPem = pem('CERTIFICATE', template(hosts, { nowMs, notAfterMs }))
  return { certPem, keyPem: pkcs8(privateKey), madeAtMs: nowMs, notAfterMs }
}

function signerOf(key: KeyObject): Signer {
  return { sign: (body) => sign('sha256', body, key), randomSerial: () => randomBytes(16) }
}

function publicPart(key: KeyObject) {
  const spki = key.export({ type: 'spki', format: 'der' })
  // A P-256 SubjectPublicKeyInfo ends with the 65 bytes of the uncompressed point.
  return { spki, keyId: createHash('sha1').update(spki.subarray(-65)).digest() }
}

function pkcs8(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}
