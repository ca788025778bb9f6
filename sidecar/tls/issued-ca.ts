import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { certificateRequest } from '../../core/x509/certificate-request.ts'
import { pem } from '../../core/x509/der.ts'
import { namesPermittedBy, type PermittedNames } from '../../core/x509/name-constraints.ts'
import { type Authority, type Chain, createCertificateAuthority } from './certificate-authority.ts'

/** Has a PKCS#10 request (PEM) signed: the certificate, then what is above it, PEM. */
export type Sign = (request: string) => Promise<string>

export type Issued = {
  readonly authority: Authority
  readonly notAfterMs: number
  /** The names for which clients accept its leaves; null for every name. */
  readonly permitted: PermittedNames | null
}

/**
 * An authority whose key is made here and never leaves this process; somebody else says that it may sign. Rejects
 * when they do not, or when what they say is about another key.
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
    authority: createCertificateAuthority(privateKey, chain, nowMs),
    notAfterMs: Date.parse(chain[0].validTo),
    permitted: namesPermittedBy(chain[0].raw),
  }
}

function chainOf(text: string, key: KeyObject): Chain {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const [own, ...above] = found.map((one) => new X509Certificate(one))
  const [root] = above
  if (own === undefined || root === undefined)
    throw new Error('the certificate came without the root above it')
  if (!own.checkPrivateKey(key) || !own.ca) throw new Error('the certificate is not an authority of our key')
  if (!own.verify(root.publicKey))
    throw new Error('the certificate is not signed by the root that came with it')
  return [own, ...above]
}
