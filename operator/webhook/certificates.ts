import type { CertificateAuthorities } from './certificate-authorities.ts'
import { planCertificateAuthorities } from './certificate-authorities.ts'
import {
  type CertificateAuthority,
  createCertificateAuthority,
  issueLeaf,
  LEAF_LIFETIME_MS,
  type Leaf,
} from './leaf.ts'

/** Interval in milliseconds at which the Secret and the webhook configurations are checked. */
const REFRESH_MS = 5 * 60_000
/**
 * Maximum attempts to write the Secret. When several replicas start at once, one of them creates the Secret, and the
 * others read it.
 */
const MAX_ATTEMPTS = 5

export type StoredCertificateAuthorities = {
  /** Certificate authorities of the Secret; null when it contains none. */
  readonly cas: CertificateAuthorities | null
  /** Resource version of the Secret, for optimistic locking. */
  readonly resourceVersion: string
}

export type CertificatePort = {
  /** Reads the Secret; null when it does not exist. */
  readonly readCertificateAuthorities: () => Promise<StoredCertificateAuthorities | null>
  /**
   * Writes the Secret. Returns false after a conflicting write. With `resourceVersion` null the Secret must not exist
   * yet.
   */
  readonly writeCertificateAuthorities: (
    cas: CertificateAuthorities,
    resourceVersion: string | null,
  ) => Promise<boolean>
  /** Writes the CA bundle (PEM) into the webhook configurations. Idempotent. */
  readonly writeTrustBundle: (bundlePem: string) => Promise<void>
}

export type CertificateDeps = {
  readonly port: CertificatePort
  /** Host names and addresses of the webhook; `NAME.NAMESPACE.svc` first. */
  readonly hosts: readonly [string, ...string[]]
  readonly nowMs: () => number
  /** Called with every renewed leaf certificate, but not with the first one. */
  readonly onLeaf: (leaf: Leaf) => void
  readonly onFailure: (error: unknown) => void
}

export type Certificates = Disposable & {
  readonly leaf: Leaf
  /** The CA (PEM) that signed the leaf certificate. */
  readonly signerPem: string
  /** Writes the CA bundle into the webhook configurations. The caller calls this method once the webhook serves. */
  publish(): Promise<void>
  /** Checks the certificates at once. A timer also checks them every five minutes. */
  refresh(): Promise<void>
}

/**
 * Maintains the webhook's certificates: a certificate authority (1 year) in a Secret that all replicas share, and a
 * leaf (1 week) in the memory of each replica. A certificate is renewed at two thirds of its lifetime. Rejects when the
 * Secret can be neither read nor created.
 */
export async function createCertificates(deps: CertificateDeps): Promise<Certificates> {
  const { port, hosts, nowMs, onLeaf, onFailure } = deps
  let plan = await synchronise(port, nowMs)
  let signer = plan.signing
  let leaf = issueLeaf(signer, hosts, nowMs())
  let isPublished = false

  async function refresh(): Promise<void> {
    plan = await synchronise(port, nowMs)
    if (isPublished) await port.writeTrustBundle(plan.bundlePem)
    const isOld = nowMs() - leaf.madeAtMs >= (LEAF_LIFETIME_MS * 2) / 3 || leaf.notAfterMs <= nowMs()
    if (!isOld && isSame(signer, plan.signing)) return
    signer = plan.signing
    leaf = issueLeaf(signer, hosts, nowMs())
    onLeaf(leaf)
  }

  const timer = setInterval(() => void refresh().catch(onFailure), REFRESH_MS)
  return {
    get leaf() {
      return leaf
    },
    get signerPem() {
      return signer.certPem
    },
    async publish() {
      isPublished = true
      await port.writeTrustBundle(plan.bundlePem)
    },
    refresh,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** Reads, plans and writes the certificate authorities until the stored state equals the planned one. */
async function synchronise(port: CertificatePort, nowMs: () => number) {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const stored = await port.readCertificateAuthorities()
    const plan = planCertificateAuthorities(stored?.cas ?? null, nowMs(), () =>
      createCertificateAuthority(nowMs()),
    )
    if (!plan.isChanged) return plan
    if (await port.writeCertificateAuthorities(plan.cas, stored?.resourceVersion ?? null)) return plan
  }
  throw new Error(
    `Another writer changed the Secret with the webhook CA during each of ${MAX_ATTEMPTS} attempts to write it. Find the writer in metadata.managedFields of the Secret (kubectl get secret --show-managed-fields), and stop it.`,
  )
}

function isSame(a: CertificateAuthority, b: CertificateAuthority): boolean {
  return a.certPem === b.certPem
}
