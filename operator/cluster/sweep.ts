import type { Logger } from 'pino'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import { createOutageLog } from '../control/outage-log.ts'
import type { KubeClient } from '../kube/client.ts'
import { listPages } from '../kube/list-pages.ts'
import { type KubeObject, keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import { sleep } from '../kube/sleep.ts'
import { DEPENDENCY_ORDER } from '../reconcile/kind-order.ts'
import type { PushedObjects } from '../reconcile/pushed-objects.ts'
import { type InformerCaches, queueKey, splitQueueKey } from './custom-resources.ts'

export type SweepDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly controlPlane: Pick<ControlPlaneClient, 'sweep'>
  readonly caches: InformerCaches
  readonly pushed: Pick<PushedObjects, 'entries' | 'invalidate'>
  readonly enqueue: (key: string) => void
  readonly signal: AbortSignal
  readonly log: Logger
}

/** Sweeps every `everyMs` until the signal is aborted. */
export async function repeatSweep(deps: SweepDeps, everyMs: number): Promise<void> {
  const { signal, log } = deps
  const outages = createOutageLog({ log, message: 'control plane not swept, retrying' })
  while (!signal.aborted) {
    try {
      await sweep(deps)
      outages.answered('control plane')
    } catch (error) {
      if (!signal.aborted) outages.failed('control plane', error)
    }
    await sleep(everyMs, signal)
  }
}

/**
 * Compares the control plane with the cluster. The control plane removes objects that the cluster no longer has, and
 * the operator pushes objects again that the control plane lost. Lists every kind, because a cache with a broken watch
 * would look like deletions. When one list fails, nothing is compared.
 */
async function sweep(deps: SweepDeps): Promise<void> {
  const { client, controlPlane, caches, pushed, enqueue, signal, log } = deps
  const present = new Map<string, string>()
  for (const kind of DEPENDENCY_ORDER) {
    const { items } = await listPages<KubeObject>(client, { path: pathOf(RESOURCES[kind]) }, signal)
    for (const item of items) present.set(queueKey(kind, keyOf(item)), item.metadata.uid)
  }
  // Include objects that were created and pushed after their kind was listed.
  for (const [key, { uid }] of pushed.entries()) {
    const { kind, namespace, name } = splitQueueKey(key)
    if (!present.has(key) && caches[kind].get(`${namespace}/${name}`) !== undefined) present.set(key, uid)
  }
  const objects = [...present].map(([key, uid]) => ({ ...splitQueueKey(key), uid }))
  const { removed, missing } = await controlPlane.sweep({ source: 'kubernetes', present: objects }, signal)
  if (removed > 0 || missing.length > 0) log.info({ removed, missing: missing.length }, 'control plane swept')
  for (const { kind, namespace, name } of missing) {
    const key = queueKey(kind as ResourceKind, `${namespace}/${name}`)
    pushed.invalidate(key)
    enqueue(key)
  }
}
