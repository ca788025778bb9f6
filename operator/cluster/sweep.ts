import type { Logger } from 'pino'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { DesiredClient } from '../control/control-plane-client.ts'
import type { KubeClient } from '../kube/client.ts'
import { listPages } from '../kube/list-pages.ts'
import { type KubeObject, keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import type { HandOver } from '../reconcile/push.ts'
import { type Caches, KINDS, queueKey, splitQueueKey } from './custom-resources.ts'

export type SweepDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly desired: Pick<DesiredClient, 'sweep'>
  readonly caches: Caches
  readonly handOver: Pick<HandOver, 'held' | 'forget'>
  readonly enqueue: (key: string) => void
  readonly signal: AbortSignal
  readonly log: Logger
}

/**
 * Compares the control plane with the cluster. Every kind is listed anew, because a copy whose watch is dead without
 * knowing it would look like deletions; when one list fails nothing is compared.
 */
export async function sweep(deps: SweepDeps): Promise<void> {
  const { client, desired, caches, handOver, enqueue, signal, log } = deps
  const present = new Map<string, string>()
  for (const kind of KINDS) {
    const { items } = await listPages<KubeObject>(client, { path: pathOf(RESOURCES[kind]) }, signal)
    for (const item of items) present.set(queueKey(kind, keyOf(item)), item.metadata.uid)
  }
  // Made since its kind was listed, and handed over already.
  for (const [key, { uid }] of handOver.held()) {
    const { kind, namespace, name } = splitQueueKey(key)
    if (!present.has(key) && caches[kind].get(`${namespace}/${name}`) !== undefined) present.set(key, uid)
  }
  const objects = [...present].map(([key, uid]) => ({ ...splitQueueKey(key), uid }))
  const { removed, missing } = await desired.sweep({ source: 'kubernetes', present: objects }, signal)
  if (removed > 0 || missing.length > 0) log.info({ removed, missing: missing.length }, 'control plane swept')
  for (const { kind, namespace, name } of missing) {
    const key = queueKey(kind as ResourceKind, `${namespace}/${name}`)
    handOver.forget(key)
    enqueue(key)
  }
}
