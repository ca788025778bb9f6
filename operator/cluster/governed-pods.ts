import * as z from 'zod'
import { ANNOTATIONS, CONTAINERS, LAYER_LABEL } from '../../core/capture/pod-contract.ts'
import { workloadOf } from '../../core/inject/agent-name.ts'
import type { Metadata } from '../../core/inject/pod.ts'
import type { KubeObject, ObjectMeta } from '../kube/objects.ts'

type ContainerStatus = { readonly name: string; readonly ready: boolean }
type FullPod = KubeObject & {
  readonly metadata: Metadata
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
  /** `namespace/name`. */
  readonly agent: string | null
  /** As `workloadOf` says it. */
  readonly workload: string | null
  readonly isReady: boolean
  /** It ended: it counts no more. */
  readonly isOver: boolean
  /** Somebody asked for its deletion. */
  readonly isLeaving: boolean
  readonly layer: string | null
  /** A container says that it changes its user. */
  readonly changesUser: boolean
}

export function governedPod(pod: KubeObject): GovernedPod {
  const { metadata, status = {} } = pod as FullPod
  const { name, uid, resourceVersion, namespace = '' } = metadata
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return {
    metadata: { name, namespace, uid, resourceVersion },
    gateway: gatewayOf(metadata),
    agent: agentOf(metadata),
    workload: workloadOf(metadata),
    isReady: statuses.some((each) => each.name === CONTAINERS.proxy && each.ready),
    isOver: status.phase === 'Succeeded' || status.phase === 'Failed',
    isLeaving: metadata.deletionTimestamp !== undefined,
    layer: metadata.labels?.[LAYER_LABEL] ?? null,
    changesUser: metadata.annotations?.[ANNOTATIONS.bypassPossible] !== undefined,
  }
}

const Injected = z.object({ gateway: z.string() })

/** The injector wrote which Gateway it is; whoever made the pod may have named it shortly, or not at all. */
function gatewayOf({ annotations = {}, namespace = '' }: ObjectMeta): string | null {
  const written = Injected.safeParse(json(annotations[ANNOTATIONS.injected]))
  if (written.success) return written.data.gateway
  const named = annotations[ANNOTATIONS.gateway]
  if (named === undefined) return null
  return named.includes('/') ? named : `${namespace}/${named}`
}

/** Written by the injector, too. */
function agentOf({ annotations = {}, namespace = '' }: ObjectMeta): string | null {
  const name = annotations[ANNOTATIONS.agent]
  return name === undefined ? null : `${namespace}/${name}`
}

function json(text = 'null'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not what the injector writes: then it says nothing.
    return null
  }
}

export type PodCount = {
  readonly injected: number
  readonly ready: number
  readonly cooperative: number
  readonly changingUser: number
}

export function countPods(pods: readonly GovernedPod[]): ReadonlyMap<string, PodCount> {
  const counts = new Map<string, { -readonly [Key in keyof PodCount]: number }>()
  for (const { gateway, isReady, isOver, layer, changesUser } of pods) {
    if (gateway === null || isOver) continue
    const count = counts.get(gateway) ?? { injected: 0, ready: 0, cooperative: 0, changingUser: 0 }
    count.injected += 1
    count.ready += Number(isReady)
    count.cooperative += Number(layer === 'Cooperative')
    count.changingUser += Number(changesUser)
    counts.set(gateway, count)
  }
  return counts
}
