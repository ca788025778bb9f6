import { ANNOTATIONS } from '../../core/capture/pod-contract.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'
import { type Finding, judgePod, type RunningPod } from './judge-pod.ts'

export type WatchdogPort = {
  /** Every pod that the cache knows. */
  readonly pods: () => readonly RunningPod[]
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>> | undefined
  /** Says it where people look, an Event on the pod for example; the same finding comes again with every sweep. */
  readonly report: (pod: RunningPod, finding: Finding) => void
  /** Ends a pod that can go past its gateway. */
  readonly evict: (pod: RunningPod) => Promise<void>
}

export type WatchdogOptions = {
  readonly ownNamespace: string
  readonly proxyImages: readonly string[]
  /** Pods that can go past their gateway are ended, not only reported. */
  readonly evicts: boolean
}

export type Sweep = {
  /** Pods that go or could go past their gateway, by `namespace/name` of the Gateway they name; `''` where they name none. */
  readonly bypassing: ReadonlyMap<string, readonly string[]>
  /** Pods whose sidecar is not the installed version. */
  readonly outdated: readonly string[]
}

/**
 * Looks at every pod once: those that should be governed and are not, however that came about. Rejects when a pod
 * could not be ended, after it has looked at all of them.
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
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} pods could not be ended`)
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
