import type { Logger } from 'pino'
import { applyFinalizers } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { keyOf, RESOURCES } from '../kube/objects.ts'
import type { CustomResource } from './custom-resources.ts'

/** Finalizer that delays the deletion of a Gateway until the control plane has removed it, for a limited time. */
export type Finalizer = {
  ensure(gateway: CustomResource<'Gateway'>): Promise<void>
  /**
   * Removes the finalizer of a Gateway that is being deleted, once `remove` has succeeded or the deadline has passed.
   * Returns the milliseconds until the next attempt; null when the finalizer is removed.
   */
  release(gateway: CustomResource<'Gateway'>, remove: () => Promise<void>): Promise<number | null>
}

export type FinalizerDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly log: Logger
  /**
   * Maximum time in milliseconds that the deletion of a Gateway waits for the control plane. The limit keeps namespaces
   * deletable without a control plane.
   */
  readonly patienceMs: number
}

export const FINALIZER = 'chaperone.dev/gateway'
const RETRY_MS = 1_000

export function createFinalizer({ client, log, patienceMs }: FinalizerDeps): Finalizer {
  const to = { client, resource: RESOURCES.Gateway, apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway' }
  const has = ({ metadata }: CustomResource<'Gateway'>) => metadata.finalizers?.includes(FINALIZER) === true
  const ensured = new Set<string>()

  /**
   * Resolves with true when the control plane has removed the Gateway or the deadline has passed, and with false while
   * the control plane is unreachable before the deadline. A hanging call does not extend the deadline.
   */
  async function isRemoved(
    gateway: CustomResource<'Gateway'>,
    remove: () => Promise<void>,
  ): Promise<boolean> {
    const deletedAt = Date.parse(gateway.metadata.deletionTimestamp ?? '')
    const leftMs = () => deletedAt + patienceMs - Date.now()
    const removed = remove().then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'not_ready')) return false
        throw error
      },
    )
    if (await within(removed, leftMs())) return true
    if (leftMs() > 0) return false
    // After the deadline, the next sweep removes the Gateway from the control plane.
    log.warn({ gateway: keyOf(gateway) }, 'gateway deleted while the control plane was unreachable')
    return true
  }

  return {
    async ensure(gateway) {
      const { uid } = gateway.metadata
      if (has(gateway) || ensured.has(uid)) return
      await applyFinalizers(to, gateway, [FINALIZER])
      // The next reconcile may run before the watch delivers the finalizer, so the uid is recorded here.
      ensured.add(uid)
    },
    async release(gateway, remove) {
      if (!has(gateway)) return null
      if (!(await isRemoved(gateway, remove))) return RETRY_MS
      await applyFinalizers(to, gateway, [])
      ensured.delete(gateway.metadata.uid)
      return null
    },
  }
}

/** Resolves with the result of `work`; false when `work` is not settled in time. */
async function within(work: Promise<boolean>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), Math.max(0, ms))
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
