import { ANNOTATIONS } from '../../core/capture/pod-contract.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'
import { type Finding, judgePod, type RunningPod } from './judge-pod.ts'

export type WatchdogPort = {
  /** Returns all cached pods. */
  readonly pods: () => readonly RunningPod[]
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined
  /**
   * Reports the finding to users, for example as an Event. Every sweep repeats the report of a finding that remains.
   */
  readonly report: (pod: RunningPod, finding: Finding) => void
  /** Evicts a pod that can bypass its gateway. */
  readonly evict: (pod: RunningPod) => Promise<void>
}

export type WatchdogOptions = {
  readonly ownNamespace: string
  readonly proxyImages: readonly string[]
  /** True when pods that can bypass their gateway are evicted and reported; false when these pods are only reported. */
  readonly evicts: boolean
}

/** A pod (`namespace/name`) that bypasses or can bypass its gateway. */
export type BypassingPod = { readonly name: string; readonly kind: Exclude<Finding['kind'], 'outdated'> }

/**
 * Pods that bypass or can bypass their gateway, by `namespace/name` of the Gateway in their annotation. The key of
 * pods without the annotation is `''`.
 */
export type Bypassing = ReadonlyMap<string, readonly BypassingPod[]>

export type Sweep = {
  readonly bypassing: Bypassing
  /** Pods whose sidecar is not the installed version. */
  readonly outdated: readonly string[]
  /** Resolves after all evictions have ended, with the evictions that failed. Never rejects. */
  readonly evictions: Promise<readonly FailedEviction[]>
}

/** Eviction of a pod (`namespace/name`) that failed, for example because of its PodDisruptionBudget. */
export type FailedEviction = { readonly pod: string; readonly error: unknown }

/** Judges every pod once, reports the findings, and begins the evictions if they are configured. */
export function sweep(port: WatchdogPort, options: WatchdogOptions): Sweep {
  const found = port.pods().flatMap((pod) => {
    const namespace = pod.metadata.namespace ?? ''
    if (namespace === options.ownNamespace || SYSTEM_NAMESPACES.includes(namespace)) return []
    const namespaceLabels = port.namespaceLabels(namespace) ?? {}
    const finding = judgePod(pod, { namespaceLabels, proxyImages: options.proxyImages })
    return finding === null ? [] : [{ pod, finding }]
  })
  for (const { pod, finding } of found) port.report(pod, finding)
  const outdated = found.filter(({ finding }) => finding.kind === 'outdated')
  const bypassing = found.flatMap(({ pod, finding: { kind } }) =>
    kind === 'outdated' ? [] : [{ pod, kind }],
  )
  const evicted = options.evicts ? bypassing.map(({ pod }) => pod) : []
  return {
    bypassing: byGateway(bypassing),
    outdated: outdated.map(({ pod }) => keyOf(pod)),
    evictions: evictAll(port, evicted),
  }
}

async function evictAll(port: WatchdogPort, pods: readonly RunningPod[]): Promise<readonly FailedEviction[]> {
  const results = await Promise.all(
    pods.map((pod) =>
      port.evict(pod).then(
        () => [],
        (error: unknown) => [{ pod: keyOf(pod), error }],
      ),
    ),
  )
  return results.flat()
}

type Bypass = { readonly pod: RunningPod; readonly kind: BypassingPod['kind'] }

function byGateway(bypasses: readonly Bypass[]): Bypassing {
  const groups = new Map<string, BypassingPod[]>()
  for (const { pod, kind } of bypasses) {
    const named = pod.metadata.annotations?.[ANNOTATIONS.gateway] ?? ''
    const key = named === '' || named.includes('/') ? named : `${pod.metadata.namespace ?? ''}/${named}`
    groups.set(key, [...(groups.get(key) ?? []), { name: keyOf(pod), kind }])
  }
  return groups
}

function keyOf({ metadata }: RunningPod): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}
