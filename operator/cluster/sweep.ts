import type { Logger } from 'pino'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import { createOutageLog } from '../control/outage-log.ts'
import type { KubeClient } from '../kube/client.ts'
import { listPages } from '../kube/list-pages.ts'
import { type KubeObject, keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import { DEPENDENCY_ORDER } from '../reconcile/kind-order.ts'
import type { PushedObjects } from '../reconcile/pushed-objects.ts'
import { type InformerCaches, queueKey, splitQueueKey } from './custom-resources.ts'
import { removeFormerFinalizers } from './former-finalizer.ts'

export type SweepDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'sweep'>
  readonly caches: InformerCaches
  readonly pushed: Pick<PushedObjects, 'entries' | 'invalidate'>
  readonly enqueue: (key: string) => void
  readonly signal: AbortSignal
  readonly log: Logger
}

/**
 * Compares the control plane with the cluster (sweep) every `everyMs` milliseconds until the signal is
 * aborted.
 */
export async function repeatSweep(deps: SweepDeps, everyMs: number): Promise<void> {
  const { signal, log } = deps
  const outages = createOutageLog({
    log,
    message:
      'objects that were deleted in the cluster could not be removed from the control plane and may stay in force; retrying',
  })
  const existing = createExistingObjects(deps)
  while (!signal.aborted) {
    try {
      await removeFormerFinalizers(deps.client, deps.caches.Gateway.list())
      await sweep(deps, await existing())
      outages.answered('control plane')
    } catch (error) {
      if (!signal.aborted) outages.failed('control plane', error)
    }
    await sleep(everyMs, signal)
  }
}

/**
 * Time in milliseconds without data after which a cache may lack objects, because its watch may be half-open.
 */
const MAX_STALENESS_MS = 90_000

/**
 * Returns a function that returns the uid of every object of the cluster, by queue key. The first call of a leader term
 * lists every kind, because the previous leader may have pushed objects that a cache with a broken watch lacks. Later
 * calls read the informer caches when these are at least as new as the lists. Rejects when one list fails.
 */
function createExistingObjects({ client, caches, signal }: SweepDeps): () => Promise<Map<string, string>> {
  const listed = new Map<ResourceKind, string>()
  const isReliable = (kind: ResourceKind) => {
    const cache = caches[kind]
    const isCurrent = !cache.isBroken() && cache.stalenessMs() < MAX_STALENESS_MS
    // If the resource versions are not numbers, the comparison is false, and every sweep lists all objects.
    return isCurrent && Number(cache.resourceVersion() ?? Number.NaN) >= Number(listed.get(kind))
  }
  return async () => {
    const isListing = !DEPENDENCY_ORDER.every(isReliable)
    const existing = new Map<string, string>()
    for (const kind of DEPENDENCY_ORDER) {
      let items: readonly KubeObject[] = caches[kind].list()
      if (isListing) {
        const list = await listPages<KubeObject>(client, { path: pathOf(RESOURCES[kind]) }, signal)
        items = list.items
        listed.set(kind, list.resourceVersion)
      }
      for (const item of items) existing.set(queueKey(kind, keyOf(item)), item.metadata.uid)
    }
    return existing
  }
}

/**
 * Compares the control plane with the cluster. The control plane removes objects that the cluster no longer has, and
 * the operator pushes objects again that the control plane lost.
 */
async function sweep(deps: SweepDeps, present: Map<string, string>): Promise<void> {
  const { controlPlane, caches, pushed, enqueue, signal, log } = deps
  // Objects that were created and pushed after `present` was read must not be removed.
  for (const [key, { uid }] of pushed.entries()) {
    const { kind, namespace, name } = splitQueueKey(key)
    if (!present.has(key) && caches[kind].get(`${namespace}/${name}`) !== undefined) present.set(key, uid)
  }
  const objects = [...present].map(([key, uid]) => ({ ...splitQueueKey(key), uid }))
  const { removed, missing } = await controlPlane.sweep({ source: 'kubernetes', present: objects }, signal)
  if (removed > 0 || missing.length > 0)
    log.info(
      { removed, missing: missing.length },
      'control plane compared with the cluster: deleted objects were removed, and missing objects are sent again',
    )
  for (const { kind, namespace, name } of missing) {
    const key = queueKey(kind as ResourceKind, `${namespace}/${name}`)
    pushed.invalidate(key)
    enqueue(key)
  }
}
