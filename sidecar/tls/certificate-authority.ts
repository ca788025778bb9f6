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
  /** PEM of the private key. All leaves of this process share it. */
  readonly key: string
  /** PEM of the leaf, followed by its issuers except the root. */
  readonly cert: string
  /** End of validity in epoch milliseconds. */
  readonly notAfterMs: number
  /**
   * Time in epoch milliseconds after which a new leaf is minted. The time is before the end of validity, because the
   * clocks of clients differ and connections last.
   */
  readonly freshUntilMs: number
}

export type CertificateAuthority = {
  readonly certPem: string
  /** PEM of the trust anchor that clients install: the last certificate of the chain. */
  readonly caPem: string
  /** True when Name Constraints (X.509) restrict the names for which the CA can sign leaves. */
  readonly isConstrained: boolean
  /**
   * Mints a leaf for a host name or an IP address (without brackets). A leaf costs one signature, 50 to 100
   * microseconds.
   */
  mint(host: string): Leaf
}

export type CertificateAuthorityFiles = {
  readonly certFile: string
  readonly keyFile: string
  readonly bundleFile: string
}

/**
 * Loads the CA. When none exists, creates a P-256 root (key with mode 0600). Writes the bundle of the public roots and
 * this CA. Throws an error that names the invalid file and a remedy.
 */
export async function loadCertificateAuthority(
  files: CertificateAuthorityFiles,
  nowMs: () => number = Date.now,
  name = 'Chaperone CA',
): Promise<CertificateAuthority> {
  const key = await loadKey(files)
  const chain = await loadChain(files, key, { name, nowMs: nowMs() })
  const anchor = chain.at(-1) ?? chain[0]
  await writeAtomically(files.bundleFile, [...rootCertificates, anchor.toString()].join('\n'), 0o644)
  return createCertificateAuthority(key, chain, nowMs)
}

/** Chain of a CA: the signing certificate, followed by its issuers. The root is last. */
export type Chain = readonly [X509Certificate, ...X509Certificate[]]

export function createCertificateAuthority(
  key: KeyObject,
  chain: Chain,
  nowMs: () => number,
): CertificateAuthority {
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
      // Some clients refuse a leaf whose validity ends after that of its issuer.
      const notAfterMs = Math.min(now + LEAF_LIFETIME_MS, Date.parse(issuer.validTo))
      const cert = pem('CERTIFICATE', template(host, now, notAfterMs)) + suffix
      return { key: leafKey, cert, notAfterMs, freshUntilMs: freshUntil(now, notAfterMs) }
    },
  }
}

/**
 * Returns the time at which a leaf is replaced: a day before the end of its validity, or after two thirds of a validity
 * below three days.
 */
function freshUntil(now: number, notAfterMs: number): number {
  return Math.max(notAfterMs - DAY_MS, now + ((notAfterMs - now) * 2) / 3)
}

/** Runs `parse` and replaces its error, because errors of OpenSSL do not name the file. */
function read<T>(parse: () => T, problem: string, files: readonly string[]): T {
  try {
    return parse()
  } catch (cause) {
    const way = `restore it, or delete ${files.join(' and ')} to create a new CA`
    throw new Error(`${problem} that can be read: ${way}`, { cause })
  }
}

async function loadKey({ certFile, keyFile }: CertificateAuthorityFiles): Promise<KeyObject> {
  const stored = await readIfPresent(keyFile)
  if (stored !== null)
    return read(() => createPrivateKey(stored), `${keyFile} contains no private key`, [certFile, keyFile])
  if ((await readIfPresent(certFile)) !== null) {
    throw new Error(`${certFile} has no key: restore ${keyFile}, or delete ${certFile} to create a new CA`)
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
  ).map((text) => read(() => new X509Certificate(text), `${certFile} contains no certificate`, [certFile]))
  if (issuer === undefined)
    throw new Error(`${certFile} contains no certificate: delete it to create a new CA`)
  if (!issuer.checkPrivateKey(key)) {
    throw new Error(
      `${certFile} and ${keyFile} do not belong together: restore the pair, or delete both files to create a new CA`,
    )
  }
  if (!issuer.ca) throw new Error(`${certFile} is not a CA certificate (CA:TRUE is missing): replace it`)
  if (Date.parse(issuer.validTo) <= root.nowMs) {
    throw new Error(
      `${certFile} expired on ${issuer.validTo}: delete it, restart the gateway, and distribute the new certificate`,
    )
  }
  return [issuer, ...above]
}

async function createRoot(
  certFile: string,
  key: KeyObject,
  { name, nowMs }: NewRoot,
): Promise<X509Certificate> {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  // The name of each root has a random suffix. With equal names, a client that trusts the roots of two installations
  // would select the wrong key.
  const root = makeRoot(key, spki, `${name} ${randomBytes(4).toString('hex')}`, nowMs)
  await writeAtomically(certFile, pem('CERTIFICATE', root), 0o644)
  return new X509Certificate(root)
}

function issuerOf(key: KeyObject, certificate: X509Certificate): Issuer {
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' })
  return { key, name: certificateSubject(certificate.raw), keyId: keyIdentifier(spki) }
}
