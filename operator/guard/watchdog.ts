import { ANNOTATIONS } from '../../core/capture/pod-contract.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'
import { type Finding, judgePod, type RunningPod } from './judge-pod.ts'

export type WatchdogPort = {
  /** Returns all cached pods. */
  readonly pods: () => readonly RunningPod[]
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined
  /** Reports the finding to users, for example as an Event. Every sweep calls it again for a finding that remains. */
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

export type Sweep = {
  /**
   * Pods that bypass or can bypass their gateway, by `namespace/name` of the Gateway in their annotation. The key is
   * `''` without an annotation.
   */
  readonly bypassing: ReadonlyMap<string, readonly string[]>
  /** Pods whose sidecar is not the installed version. */
  readonly outdated: readonly string[]
}

/**
 * Judges every pod once and reports the findings. Rejects when an eviction failed, after all pods were judged.
 */
export async function sweep(port: WatchdogPort, options: WatchdogOptions): Promise<Sweep> {
  const found = port.pods().flatMap((pod) => {
    const namespace = pod.metadata.namespace ?? ''
    if (namespace === options.ownNamespace || SYSTEM_NAMESPACES.includes(namespace)) return []
    const namespaceLabels = port.namespaceLabels(namespace) ?? {}
    const finding = judgePod(pod, { namespaceLabels, proxyImages: options.proxyImages })
    return finding === null ? [] : [{ pod, finding }]
  })
  for (const { pod, finding } of found) port.report(pod, finding)
  const [outdated, bypassing] = [
    found.filter(({ finding }) => finding.kind === 'outdated'),
    found.filter(({ finding }) => finding.kind !== 'outdated'),
  ]
  if (options.evicts)
    await evictAll(
      port,
      bypassing.map(({ pod }) => pod),
    )
  return {
    bypassing: byGateway(bypassing.map(({ pod }) => pod)),
    outdated: outdated.map(({ pod }) => keyOf(pod)),
  }
}

async function evictAll(port: WatchdogPort, pods: readonly RunningPod[]): Promise<void> {
  const results = await Promise.allSettled(pods.map((pod) => port.evict(pod)))
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} pods could not be evicted`)
}

function byGateway(pods: readonly RunningPod[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>()
  for (const pod of pods) {
    const named = pod.metadata.annotations?.[ANNOTATIONS.gateway] ?? ''
    const key = named === '' || named.includes('/') ? named : `${pod.metadata.namespace ?? ''}/${named}`
    groups.set(key, [...(groups.get(key) ?? []), keyOf(pod)])
  }
  return groups
}

function keyOf({ metadata }: RunningPod): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}
