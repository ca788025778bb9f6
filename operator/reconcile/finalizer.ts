import { applyFinalizers } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { RESOURCES } from '../kube/objects.ts'
import type { OurObject } from './our-objects.ts'

/** Holds a Gateway back until the control plane has let go of it, but never for long. */
export type Finalizer = {
  ensure(gateway: OurObject<'Gateway'>): Promise<void>
  /** Lets a Gateway go that is being deleted; answers after how many milliseconds to try again, null when it is done. */
  release(gateway: OurObject<'Gateway'>, tell: () => Promise<void>): Promise<number | null>
}

export type FinalizerDeps = {
  readonly client: Pick<KubeClient, 'call'>
  /** Gave up on the control plane: what is left there goes with the next comparison. */
  readonly onGivenUp: (gateway: OurObject<'Gateway'>) => void
}

export const FINALIZER = 'chaperone.dev/gateway'
/** Namespaces must be deletable while the control plane is down. */
const PATIENCE_MS = 10_000
const AGAIN_MS = 1_000

export function createFinalizer({ client, onGivenUp }: FinalizerDeps): Finalizer {
  const to = { client, resource: RESOURCES.Gateway, apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' }
  const has = ({ metadata }: OurObject<'Gateway'>) => metadata.finalizers?.includes(FINALIZER) === true
  const ensured = new Set<string>()

  /** False while the control plane is away and there is time left. */
  async function isTold(gateway: OurObject<'Gateway'>, tell: () => Promise<void>): Promise<boolean> {
    try {
      await tell()
      return true
    } catch (error) {
      if (!hasCode(error, 'not_ready')) throw error
    }
    const deletedAt = Date.parse(gateway.metadata.deletionTimestamp ?? '')
    if (Date.now() - deletedAt < PATIENCE_MS) return false
    onGivenUp(gateway)
    return true
  }

  return {
    async ensure(gateway) {
      const { uid } = gateway.metadata
      if (has(gateway) || ensured.has(uid)) return
      await applyFinalizers(to, gateway, [FINALIZER])
      // The watch may bring it back later than the next look.
      ensured.add(uid)
    },
    async release(gateway, tell) {
      if (!has(gateway)) return null
      if (!(await isTold(gateway, tell))) return AGAIN_MS
      await applyFinalizers(to, gateway, [])
      ensured.delete(gateway.metadata.uid)
      return null
    },
  }
}
