import { keyOf } from '../../kube/objects.ts'
import type { PodCounts } from '../../metrics.ts'
import type { Informers } from '../informer-caches.ts'

/**
 * Counts the pods of every Gateway, for the metrics. Ungoverned pods that name no existing Gateway count under the
 * empty name, because the author of a pod chooses the name.
 */
export function podCounts(
  { caches, podIndex }: Pick<Informers, 'caches' | 'podIndex'>,
  bypassing: ReadonlyMap<string, readonly unknown[]>,
): ReadonlyMap<string, PodCounts> {
  const gateways = caches.Gateway.list().map(keyOf)
  const counts = new Map<string, PodCounts>()
  for (const gateway of gateways) {
    const { governed, notReady } = podIndex.factsOf(gateway)
    const ungoverned = bypassing.get(gateway)?.length ?? 0
    counts.set(gateway, { governed, notReady: notReady.length, ungoverned })
  }
  const elsewhere = [...bypassing].filter(([gateway]) => !counts.has(gateway))
  const ungoverned = elsewhere.reduce((sum, [, pods]) => sum + pods.length, 0)
  return counts.set('', { governed: 0, notReady: 0, ungoverned })
}
