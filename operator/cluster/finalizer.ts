import { applyFinalizers } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { RESOURCES } from '../kube/objects.ts'
import type { OurObject } from './custom-resources.ts'

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
  /** How long after its deletion a Gateway waits for the control plane. Namespaces must be deletable without it. */
  readonly patienceMs: number
}

export const FINALIZER = 'chaperone.dev/gateway'
const AGAIN_MS = 1_000

export function createFinalizer({ client, onGivenUp, patienceMs }: FinalizerDeps): Finalizer {
  const to = { client, resource: RESOURCES.Gateway, apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' }
  const has = ({ metadata }: OurObject<'Gateway'>) => metadata.finalizers?.includes(FINALIZER) === true
  const ensured = new Set<string>()

  /** False while the control plane is away and there is time left. A call that hangs is not waited for longer. */
  async function isTold(gateway: OurObject<'Gateway'>, tell: () => Promise<void>): Promise<boolean> {
    const deletedAt = Date.parse(gateway.metadata.deletionTimestamp ?? '')
    const leftMs = () => deletedAt + patienceMs - Date.now()
    const told = tell().then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'not_ready')) return false
        throw error
      },
    )
    if (await within(told, leftMs())) return true
    if (leftMs() > 0) return false
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

/** What `work` says; false when it has said nothing in time. */
async function within(work: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), Math.max(0, ms))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
