import * as z from 'zod'
import type { InjectGateway } from '../../core/inject/options.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { applyGuard, type Basis } from './apply-guard.ts'
import { guardOptions, type Installation } from './guard-options.ts'
import { guardObjects, IMAGES_ANNOTATION, PODS_POLICY } from './policies.ts'

/** Interval in milliseconds at which the admission policies are written again, to repair changes by other clients. */
const REPEAT_MS = 5 * 60_000
/**
 * Number of images, of addresses of the control plane and of lists of search domains that the admission policies accept
 * for sidecars. During an upgrade, replicas of several versions inject pods. After the control plane's Service was created
 * again, the replicas resolve its new address at different times. Replicas on different nodes may read different search
 * domains.
 */
const KEPT = 3
/** Maximum attempts of a write that conflicts with writes of other replicas. */
const ATTEMPTS = 5
const POLICY_PATH = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${PODS_POLICY}`

const Accepted = z.object({
  proxy: z.array(z.string()),
  rules: z.array(z.string()),
  addresses: z.array(z.string()).default([]),
  searchDomains: z.array(z.string()).default([]),
})
const Stored = z.looseObject({
  metadata: z.looseObject({
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
})

export type GuardDeps = {
  readonly client: KubeClient
  readonly installation: Omit<
    Installation,
    'proxyImages' | 'ruleImages' | 'gvisorRuntimeClasses' | 'controlPlaneAddresses' | 'searchDomains'
  >
  /** The images that this replica injects. */
  readonly images: { readonly proxy: string; readonly rules: string }
  /** Returns the address of the control plane that this replica resolved; null without one. */
  readonly controlPlaneAddress: () => string | null
  readonly monotonicMs: () => number
}

/** Objects of the cluster that the admission policies depend on. */
export type GuardBasis = {
  readonly gateways: readonly InjectGateway[]
  readonly gvisorRuntimeClasses: readonly string[]
}

export type Guard = {
  /**
   * Writes the admission policies if they differ from the last write, or if the last write is older than `REPEAT_MS`.
   */
  reconcile(basis: GuardBasis): Promise<void>
  /**
   * Makes the next call of `reconcile` write all admission policies, because an object of the guard was deleted or
   * changed.
   */
  invalidate(): void
  /**
   * Returns the address of the control plane that this replica may inject: the resolved address, once the admission
   * policies accept it.
   */
  acceptedAddress(): string | null
  /**
   * Returns the search domains of the nodes that this replica may inject: its own, once the admission policies accept
   * them; otherwise none. Policies of a replica of an earlier version refuse the variable.
   */
  acceptedSearchDomains(): readonly string[]
}

export function createGuard(deps: GuardDeps): Guard {
  const { client, installation, images, controlPlaneAddress, monotonicMs } = deps
  let written = ''
  let addresses: readonly string[] = []
  let areDomainsAccepted = false
  const domains = installation.dns.searchDomains ?? []
  const ownDomains = domains.length === 0 ? null : domains.join(',')
  let invalidations = 0
  let writtenAt = Number.NEGATIVE_INFINITY
  return {
    async reconcile(cluster) {
      const { gateways, gvisorRuntimeClasses } = cluster
      const own = {
        ...installation,
        gvisorRuntimeClasses,
        proxyImages: [images.proxy],
        ruleImages: [images.rules],
        controlPlaneAddresses: newest([], controlPlaneAddress()),
        searchDomains: newest([], ownDomains),
      }
      const wanted = JSON.stringify(guardOptions(own, gateways))
      if (wanted === written && monotonicMs() - writtenAt < REPEAT_MS) return
      const before = invalidations
      await write(cluster)
      // If an object was deleted or changed during the write, this may have happened after the object was written, so
      // everything is written again.
      written = invalidations === before ? wanted : ''
      writtenAt = monotonicMs()
    },
    invalidate() {
      written = ''
      areDomainsAccepted = false
      invalidations += 1
    },
    acceptedAddress() {
      const address = controlPlaneAddress()
      return address !== null && addresses.includes(address) ? address : null
    },
    acceptedSearchDomains: () => (areDomainsAccepted ? domains : []),
  }

  /**
   * Writes the admission policies based on the version that was read, so that two replicas never overwrite each other's
   * images and addresses.
   */
  async function write({ gateways, gvisorRuntimeClasses }: GuardBasis): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { stored, basis } = await acceptedBefore(client)
      const known = {
        ...installation,
        gvisorRuntimeClasses,
        proxyImages: newest(stored.proxy, images.proxy),
        ruleImages: newest(stored.rules, images.rules),
        controlPlaneAddresses: newest(stored.addresses, controlPlaneAddress()),
        searchDomains: newest(stored.searchDomains, ownDomains),
      }
      try {
        await applyGuard(client, guardObjects(guardOptions(known, gateways)), basis)
        addresses = known.controlPlaneAddresses
        areDomainsAccepted = true
        return
      } catch (error) {
        if (!hasCode(error, 'conflict') || attempt === ATTEMPTS) throw error
      }
    }
  }
}

/**
 * Returns the images, addresses or search domains to accept, newest last. Keeps the stored order, so that replicas of two versions do
 * not overwrite each other endlessly.
 */
function newest(stored: readonly string[], own: string | null): readonly string[] {
  return own === null || stored.includes(own) ? stored : [...stored, own].slice(-KEPT)
}

type AcceptedBefore = { readonly stored: z.infer<typeof Accepted>; readonly basis: Basis | null }

async function acceptedBefore(client: KubeClient): Promise<AcceptedBefore> {
  const none = { proxy: [], rules: [], addresses: [], searchDomains: [] }
  try {
    const { metadata } = Stored.parse(await client.call({ method: 'GET', path: POLICY_PATH }))
    const noted = Accepted.safeParse(JSON.parse(metadata.annotations[IMAGES_ANNOTATION] ?? 'null'))
    const basis = { name: PODS_POLICY, resourceVersion: metadata.resourceVersion }
    return { stored: noted.success ? noted.data : none, basis }
  } catch (error) {
    if (hasCode(error, 'not_found')) return { stored: none, basis: null }
    throw error
  }
}
