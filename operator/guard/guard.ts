import * as z from 'zod'
import type { InjectGateway } from '../../core/inject/options.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { applyGuard, type Basis } from './apply-guard.ts'
import { guardOptions, type Installation } from './guard-options.ts'
import { guardObjects, IMAGES_ANNOTATION, PODS_POLICY } from './policies.ts'

/** Interval at which the policies are written again, to repair changes by other clients. */
const REPEAT_MS = 5 * 60_000
/**
 * Number of images that the admission policies accept for sidecars. During an upgrade, replicas of several versions
 * inject pods.
 */
const KEPT_IMAGES = 3
/** Maximum attempts of a write that conflicts with writes of other replicas. */
const ATTEMPTS = 5
const POLICY_PATH = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${PODS_POLICY}`

const Images = z.object({ proxy: z.array(z.string()), rules: z.array(z.string()) })
const Stored = z.looseObject({
  metadata: z.looseObject({
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
})

export type GuardDeps = {
  readonly client: KubeClient
  readonly installation: Omit<Installation, 'proxyImages' | 'ruleImages' | 'gvisorRuntimeClasses'>
  /** The images that this replica injects. */
  readonly images: { readonly proxy: string; readonly rules: string }
  readonly monotonicMs: () => number
}

/** Objects of the cluster that the policies depend on. */
export type GuardBasis = {
  readonly gateways: readonly InjectGateway[]
  readonly gvisorRuntimeClasses: readonly string[]
}

export type Guard = {
  /** Writes the policies if they differ from the last write, or the last write is too old. */
  reconcile(basis: GuardBasis): Promise<void>
  /** Makes the next `reconcile` write, because an object was deleted or changed. */
  invalidate(): void
}

export function createGuard({ client, installation, images, monotonicMs }: GuardDeps): Guard {
  let written = ''
  let invalidations = 0
  let writtenAt = Number.NEGATIVE_INFINITY
  return {
    async reconcile(cluster) {
      const { gateways, gvisorRuntimeClasses } = cluster
      const own = {
        ...{ ...installation, gvisorRuntimeClasses },
        ...{ proxyImages: [images.proxy], ruleImages: [images.rules] },
      }
      const wanted = JSON.stringify(guardOptions(own, gateways))
      if (wanted === written && monotonicMs() - writtenAt < REPEAT_MS) return
      const before = invalidations
      await write(cluster)
      // An object that was lost meanwhile may have been written before its loss.
      written = invalidations === before ? wanted : ''
      writtenAt = monotonicMs()
    },
    invalidate() {
      written = ''
      invalidations += 1
    },
  }

  /**
   * Writes the policies based on the version that was read, so that two replicas never overwrite each other's images.
   */
  async function write({ gateways, gvisorRuntimeClasses }: GuardBasis): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { stored, basis } = await storedImages(client)
      const known = {
        ...installation,
        gvisorRuntimeClasses,
        proxyImages: newest(stored.proxy, images.proxy),
        ruleImages: newest(stored.rules, images.rules),
      }
      try {
        await applyGuard(client, guardObjects(guardOptions(known, gateways)), basis)
        return
      } catch (error) {
        if (!hasCode(error, 'conflict') || attempt === ATTEMPTS) throw error
      }
    }
  }
}

/**
 * Returns the images to accept, newest last. Keeps the stored order, so that replicas of two versions do not overwrite
 * each other endlessly.
 */
function newest(stored: readonly string[], own: string): readonly string[] {
  return stored.includes(own) ? stored : [...stored, own].slice(-KEPT_IMAGES)
}

type StoredImages = { readonly stored: z.infer<typeof Images>; readonly basis: Basis | null }

async function storedImages(client: KubeClient): Promise<StoredImages> {
  const none = { proxy: [], rules: [] }
  try {
    const { metadata } = Stored.parse(await client.call({ method: 'GET', path: POLICY_PATH }))
    const noted = Images.safeParse(JSON.parse(metadata.annotations[IMAGES_ANNOTATION] ?? 'null'))
    const basis = { name: PODS_POLICY, resourceVersion: metadata.resourceVersion }
    return { stored: noted.success ? noted.data : none, basis }
  } catch (error) {
    if (hasCode(error, 'not_found')) return { stored: none, basis: null }
    throw error
  }
}
