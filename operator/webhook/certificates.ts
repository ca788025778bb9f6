import type { Authorities } from './certificate-authorities.ts'
import { planAuthorities } from './certificate-authorities.ts'
import { type Authority, issueLeaf, LEAF_LIFETIME_MS, type Leaf, makeAuthority } from './leaf.ts'

/** How often the Secret and the webhook's configuration are looked at. */
const REFRESH_MS = 5 * 60_000
/** Replicas that start at once race for the first Secret; the losers read it. */
const MAX_ATTEMPTS = 5

export type StoredAuthorities = {
  /** Null when the Secret holds none. */
  readonly authorities: Authorities | null
  /** Of the Secret, for a write that loses against any other. */
  readonly resourceVersion: string
}

export type CertificatePort = {
  /** Null when there is no Secret. */
  readonly readAuthorities: () => Promise<StoredAuthorities | null>
  /** False when somebody else wrote meanwhile. `resourceVersion` null: there must be none yet. */
  readonly writeAuthorities: (authorities: Authorities, resourceVersion: string | null) => Promise<boolean>
  /** Makes the API server trust these authorities (PEM) when it calls the webhook; writes nothing when it does. */
  readonly trustAuthorities: (bundlePem: string) => Promise<void>
}

export type CertificateDeps = {
  readonly port: CertificatePort
  /** Names and addresses under which the API server calls: `NAME.NAMESPACE.svc` first. */
  readonly hosts: readonly [string, ...string[]]
  readonly nowMs: () => number
  /** Told of every leaf but the first. */
  readonly onLeaf: (leaf: Leaf) => void
  readonly onFailure: (error: unknown) => void
}

export type Certificates = Disposable & {
  readonly leaf: Leaf
  /** Makes the API server trust what leaves are signed with: once the webhook serves, not before. */
  publish(): Promise<void>
  /** Looks at everything now; otherwise every five minutes. */
  refresh(): Promise<void>
}

/**
 * Keeps the webhook's certificates: an authority of a year in a Secret that all replicas share, and a leaf of a week in
 * the memory of each, both renewed at two thirds of their life. Rejects when the Secret can be neither read nor made.
 */
export async function createCertificates(deps: CertificateDeps): Promise<Certificates> {
  const { port, hosts, nowMs, onLeaf, onFailure } = deps
  let plan = await settle(port, nowMs)
  let signer = plan.signing
  let leaf = issueLeaf(signer, hosts, nowMs())
  let isPublished = false

  async function refresh(): Promise<void> {
    plan = await settle(port, nowMs)
    if (isPublished) await port.trustAuthorities(plan.bundlePem)
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
    async publish() {
      isPublished = true
      await port.trustAuthorities(plan.bundlePem)
    },
    refresh,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** Reads, plans and writes until what is stored is what is planned. */
async function settle(port: CertificatePort, nowMs: () => number) {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const stored = await port.readAuthorities()
    const plan = planAuthorities(stored?.authorities ?? null, nowMs(), () => makeAuthority(nowMs()))
    if (!plan.isChanged) return plan
    if (await port.writeAuthorities(plan.authorities, stored?.resourceVersion ?? null)) return plan
  }
  throw new Error('the Secret with the webhook authority changes under every write: who else writes it?')
}

function isSame(a: Authority, b: Authority): boolean {
  return a.certPem === b.certPem
}
