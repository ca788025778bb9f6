import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { rootCertificates } from 'node:tls'
import { certificateSubject } from '../../core/x509/certificate-subject.ts'
import { pem } from '../../core/x509/der.ts'
import { namesPermittedBy } from '../../core/x509/name-constraints.ts'
import { type Issuer, keyIdentifier, leafTemplate, makeRoot } from './certificate.ts'
import { readIfPresent, writeAtomically } from './files.ts'

const DAY_MS = 86_400_000
const LEAF_LIFETIME_MS = 7 * DAY_MS

export type Leaf = {
  /** PEM of the private key, the same for every leaf of this process. */
  readonly key: string
  /** PEM of the leaf, followed by the issuer when that is not a root itself. */
  readonly cert: string
  /** Epoch ms. */
  readonly notAfterMs: number
  /** Epoch ms: from then on another one is made. Clients' clocks differ, and connections live on. */
  readonly freshUntilMs: number
}

export type Authority = {
  /** The certificate that signs leaves. */
  readonly certPem: string
  /** The trust anchor that clients install: the last certificate of the file. */
  readonly caPem: string
  /** Clients accept its leaves for some names only (X.509 Name Constraints). */
  readonly isConstrained: boolean
  /** A leaf for a host name or an IP address (without brackets): one signature, 50-100 us. */
  mint(host: string): Leaf
}

export type CertificateAuthorityFiles = {
  readonly certFile: string
  readonly keyFile: string
  readonly bundleFile: string
}

/**
 * Reads the certificate authority, or makes a P-256 root when there is none (key 0600), and writes the bundle of
 * the public roots and ours. Throws an Error that says which file is wrong and what to do.
 */
export async function loadCertificateAuthority(
  files: CertificateAuthorityFiles,
  nowMs: () => number = Date.now,
  name = 'Chaperone CA',
): Promise<Authority> {
  const key = await loadKey(files)
  const chain = await loadChain(files, key, { name, nowMs: nowMs() })
  const anchor = chain.at(-1) ?? chain[0]
  await writeAtomically(files.bundleFile, [...rootCertificates, anchor.toString()].join('\n'), 0o644)
  return createCertificateAuthority(key, chain, nowMs)
}

/** The certificate that signs, and those above it, the root last. */
export type Chain = readonly [X509Certificate, ...X509Certificate[]]

export function createCertificateAuthority(key: KeyObject, chain: Chain, nowMs: () => number): Authority {
  const [issuer, ...above] = chain
  const isRoot = above.length === 0
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const leafKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const template = leafTemplate(issuerOf(key, issuer), pair.publicKey.export({ type: 'spki', format: 'der' }))
  const suffix = isRoot ? '' : chain.slice(0, -1).map(String).join('')
  return {
    certPem: issuer.toString(),
    caPem: (chain.at(-1) ?? issuer).toString(),
    isConstrained: chain.some(({ raw }) => namesPermittedBy(raw) !== null),
    mint(host) {
      const now = nowMs()
      // A leaf that outlives its issuer is refused by some clients and accepted by none for longer.
      const notAfterMs = Math.min(now + LEAF_LIFETIME_MS, Date.parse(issuer.validTo))
      const cert = pem('CERTIFICATE', template(host, now, notAfterMs)) + suffix
      return { key: leafKey, cert, notAfterMs, freshUntilMs: freshUntil(now, notAfterMs) }
    },
  }
}

/** A day before its end; a leaf that lives shorter than three days lasts for two thirds of its life. */
function freshUntil(now: number, notAfterMs: number): number {
  return Math.max(notAfterMs - DAY_MS, now + ((notAfterMs - now) * 2) / 3)
}

/** What OpenSSL says of bytes that it does not know helps nobody; which file it is does. */
function read<T>(parse: () => T, problem: string, files: readonly string[]): T {
  try {
    return parse()
  } catch (cause) {
    const way = `restore it, or delete ${files.join(' and ')} to get a new authority`
    throw new Error(`${problem} that can be read: ${way}`, { cause })
  }
}

async function loadKey({ certFile, keyFile }: CertificateAuthorityFiles): Promise<KeyObject> {
  const stored = await readIfPresent(keyFile)
  if (stored !== null)
    return read(() => createPrivateKey(stored), `${keyFile} holds no private key`, [certFile, keyFile])
  if ((await readIfPresent(certFile)) !== null) {
    throw new Error(
      `${certFile} has no key: restore ${keyFile}, or delete ${certFile} to get a new authority`,
    )
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  await writeAtomically(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600)
  return privateKey
}

type NewRoot = { readonly name: string; readonly nowMs: number }

async function loadChain(
  { certFile, keyFile }: CertificateAuthorityFiles,
  key: KeyObject,
  root: NewRoot,
): Promise<Chain> {
  const stored = await readIfPresent(certFile)
  if (stored === null) return [await createRoot(certFile, key, root)]
  const [issuer, ...above] = (
    stored.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  ).map((text) => read(() => new X509Certificate(text), `${certFile} holds no certificate`, [certFile]))
  if (issuer === undefined)
    throw new Error(`${certFile} holds no certificate: delete it to get a new authority`)
  if (!issuer.checkPrivateKey(key)) {
    throw new Error(`${certFile} and ${keyFile} do not belong together: restore the pair, or delete both`)
  }
  if (!issuer.ca) throw new Error(`${certFile} is no certificate authority (CA:TRUE is missing): replace it`)
  if (Date.parse(issuer.validTo) <= root.nowMs) {
    throw new Error(`${certFile} expired on ${issuer.validTo}: delete it, restart, and hand out the new one`)
  }
  return [issuer, ...above]
}

async function createRoot(
  certFile: string,
  key: KeyObject,
  { name, nowMs }: NewRoot,
): Promise<X509Certificate> {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  // Two installations must not share a name, or a client that trusts both picks the wrong key.
  const root = makeRoot(key, spki, `${name} ${randomBytes(4).toString('hex')}`, nowMs)
  await writeAtomically(certFile, pem('CERTIFICATE', root), 0o644)
  return new X509Certificate(root)
}

function issuerOf(key: KeyObject, certificate: X509Certificate): Issuer {
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' })
  return { key, name: certificateSubject(certificate.raw), keyId: keyIdentifier(spki) }
}
