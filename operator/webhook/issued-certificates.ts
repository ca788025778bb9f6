import { createPrivateKey, X509Certificate } from 'node:crypto'
import { ChaperoneError } from '../../core/errors.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { CertificateDeps, CertificatePort, Certificates } from './certificates.ts'
import type { Leaf } from './leaf.ts'

/** Milliseconds between two reads of the Secret. */
const REFRESH_MS = 60_000
/**
 * Time in milliseconds for which a replaced CA is still trusted. Within this time, every replica reads the
 * new Secret several times.
 */
const KEEP_MS = 10 * 60_000
/**
 * Number of attempts to read the first certificate, and the milliseconds between two attempts, while the
 * issuer creates it.
 */
const ATTEMPTS = { count: 60, pauseMs: 2_000 }

/** Content of a Secret of the type kubernetes.io/tls with `ca.crt`, as cert-manager writes it. */
export type IssuedCertificate = {
  readonly certPem: string
  readonly keyPem: string
  readonly caPem: string
}

export type IssuedCertificateDeps = Pick<CertificateDeps, 'nowMs' | 'onLeaf' | 'onFailure'> & {
  readonly port: Pick<CertificatePort, 'writeTrustBundle'> & {
    /** Reads the Secret; null when it does not exist. */
    readonly readIssued: () => Promise<IssuedCertificate | null>
  }
  /** Name of the Secret, for errors. */
  readonly secret: string
  readonly pauseMs?: number
}

type Current = { readonly leaf: Leaf; readonly caPem: string }

/**
 * Serves the certificate that another program issues and renews, for example cert-manager. Trusts its CA, and a
 * replaced CA for ten minutes, because replicas read the Secret at different times. A Secret that is deleted,
 * incomplete or inconsistent changes nothing. Rejects when there is no valid certificate within two minutes.
 */
export async function createIssuedCertificates(deps: IssuedCertificateDeps): Promise<Certificates> {
  const { port, nowMs, onLeaf, onFailure } = deps
  let current = await first(deps)
  let replaced: { readonly caPem: string; readonly untilMs: number } | null = null
  let isPublished = false

  const publish = () => {
    const old = replaced !== null && nowMs() < replaced.untilMs ? replaced.caPem : ''
    return port.writeTrustBundle(`${current.caPem}${old}`)
  }

  async function refresh(): Promise<void> {
    const next = await read(deps)
    const isRenewed = next.leaf.certPem !== current.leaf.certPem
    if (next.caPem !== current.caPem) replaced = { caPem: current.caPem, untilMs: nowMs() + KEEP_MS }
    current = next
    // The bundle is written first, because the API servers must trust the CA before the webhook presents the new leaf.
    if (isPublished) await publish()
    if (isRenewed) onLeaf(next.leaf)
  }

  const timer = setInterval(() => void refresh().catch(onFailure), REFRESH_MS)
  return {
    get leaf() {
      return current.leaf
    },
    get signerPem() {
      return current.caPem
    },
    async publish() {
      isPublished = true
      await publish()
    },
    refresh,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

async function first(deps: IssuedCertificateDeps): Promise<Current> {
  const { pauseMs = ATTEMPTS.pauseMs } = deps
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(deps)
    } catch (error) {
      if (attempt === ATTEMPTS.count) throw error
      await sleep(pauseMs)
    }
  }
}

async function read({ port, secret }: IssuedCertificateDeps): Promise<Current> {
  const issued = await port.readIssued()
  const wrong = (detail: string) => new ChaperoneError('not_ready', { detail: `Secret ${secret} ${detail}` })
  if (issued === null)
    throw wrong('does not exist. Check the Certificate chaperone-webhook and its issuer (kubectl describe).')
  const { certPem, keyPem, caPem } = issued
  if (certPem === '' || keyPem === '' || caPem === '')
    throw wrong('lacks tls.crt, tls.key or ca.crt. Use an issuer that returns its CA certificate.')
  const leaf = new X509Certificate(certPem)
  if (!leaf.checkPrivateKey(createPrivateKey(keyPem)))
    throw wrong('has a certificate that does not belong to its key. Issue the certificate again.')
  return {
    leaf: { certPem, keyPem, madeAtMs: Date.parse(leaf.validFrom), notAfterMs: Date.parse(leaf.validTo) },
    caPem: caPem.endsWith('\n') ? caPem : `${caPem}\n`,
  }
}
