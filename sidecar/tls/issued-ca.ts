import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { certificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import { namesPermittedBy, type PermittedNames } from '../../core/x509/name-constraints.ts'
import { type CertificateAuthority, type Chain, createCertificateAuthority } from './certificate-authority.ts'

/** Signs a PKCS#10 request (PEM). Resolves with the certificate, followed by its issuers, as PEM. */
export type Sign = (request: string) => Promise<string>

export type Issued = {
  readonly ca: CertificateAuthority
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Names for which the CA can sign leaves; null for every name. */
  readonly permitted: PermittedNames | null
}

/**
 * Creates a CA with a new key that never leaves this process, and with a certificate from `sign`. Rejects when the
 * request is refused, or when the certificate is for another key.
 */
export async function issueCa(
  name: string,
  signRequest: Sign,
  nowMs: () => number = Date.now,
): Promise<Issued> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = new Uint8Array(publicKey.export({ type: 'spki', format: 'der' }))
  const request = certificateRequest(spki, name, (body) => sign('sha256', body, privateKey))
  const chain = chainOf(await signRequest(pem('CERTIFICATE REQUEST', request)), privateKey)
  return {
    ca: createCertificateAuthority(privateKey, chain, nowMs),
    notBeforeMs: Date.parse(chain[0].validFrom),
    notAfterMs: Date.parse(chain[0].validTo),
    permitted: namesPermittedBy(chain[0].raw),
  }
}

function chainOf(text: string, key: KeyObject): Chain {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const [own, ...above] = found.map((one) => new X509Certificate(one))
  const [root] = above
  if (own === undefined || root === undefined)
    throw new Error('the issued certificate has no root certificate')
  if (!own.checkPrivateKey(key) || !own.ca)
    throw new Error('the issued certificate is not a CA certificate for the requested key')
  if (!own.verify(root.publicKey))
    throw new Error('the issued certificate is not signed by its root certificate')
  return [own, ...above]
}
