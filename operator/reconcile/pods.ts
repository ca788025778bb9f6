import { ANNOTATIONS, CONTAINERS, LAYER_LABEL } from '../../core/capture/pod-contract.ts'
import type { KubeObject } from '../kube/objects.ts'

type ContainerStatus = { readonly name: string; readonly ready: boolean }
type FullPod = KubeObject & {
  readonly status?: {
    readonly phase?: string
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

/** What is kept of a governed pod: there may be thousands of them. */
export type GovernedPod = KubeObject & {
  /** `namespace/name`. */
  readonly gateway: string | null
  readonly isReady: boolean
  /** It ended: it counts no more. */
  readonly isOver: boolean
  readonly layer: string | null
}

export function governedPod(pod: KubeObject): GovernedPod {
  const { metadata, status = {} } = pod as FullPod
  const { name, uid, resourceVersion, namespace = '' } = metadata
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  const named = metadata.annotations?.[ANNOTATIONS.gateway]
  return {
    metadata: { name, namespace, uid, resourceVersion },
    gateway: named === undefined ? null : named.includes('/') ? named : `${namespace}/${named}`,
    isReady: statuses.some((each) => each.name === CONTAINERS.proxy && each.ready),
    isOver: status.phase === 'Succeeded' || status.phase === 'Failed',
    layer: metadata.labels?.[LAYER_LABEL] ?? null,
  }
}

export type PodCount = { readonly injected: number; readonly ready: number; readonly cooperative: number }

export function countPods(pods: readonly GovernedPod[]): ReadonlyMap<string, PodCount> {
  const counts = new Map<string, { injected: number; ready: number; cooperative: number }>()
  for (const { gateway, isReady, isOver, layer } of pods) {
    if (gateway === null || isOver) continue
    const count = counts.get(gateway) ?? { injected: 0, ready: 0, cooperative: 0 }
    count.injected += 1
    if (isReady) count.ready += 1
    if (layer === 'Cooperative') count.cooperative += 1
    counts.set(gateway, count)
  }
  return counts
}
