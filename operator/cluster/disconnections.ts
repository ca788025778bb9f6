import type { GatewayProcess } from '../../core/wire/operator/operator.ts'
import type { EventRecorder, EventTarget } from '../kube/events.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { keyOf } from '../kube/objects.ts'
import { egressCauseText } from '../network/egress-cause.ts'
import type { GovernedPod } from './pods/governed-pods.ts'

/**
 * Pods whose sidecars lack a connection to the control plane for the same cause. `cause`: a sentence; empty
 * while the cause is unknown.
 */
export type Disconnected = {
  /** `namespace/name` of the pods, in alphabetical order. */
  readonly pods: readonly string[]
  readonly cause: string
}

/** Tracks sidecars that have started, are not ready, and have no stream to the control plane. */
export type Disconnections = {
  /**
   * Records the pods of a Gateway. Returns those that have been disconnected for over 60 s, by cause. Starts
   * the diagnoses that are due; they run in the background.
   */
  of(gateway: string, observed: ObservedPods): readonly Disconnected[]
  /**
   * Returns the milliseconds after which the result of `of` may change although nothing else has changed; null if it
   * cannot.
   */
  dueMs(gateway: string): number | null
}

export type ObservedPods = {
  /** Pods whose sidecar has started and is not ready. */
  readonly unready: readonly GovernedPod[]
  /** Connected processes of the Gateway; null while they are not known. */
  readonly processes: readonly GatewayProcess[] | null
  /** True when no replica of the control plane responds to the operator. */
  readonly isStale: boolean
}

export type DisconnectionsDeps = {
  /**
   * Resolves with the cause of a pod's missing connection as a sentence; null if none is found. Rejects with `not_found`
   * when the pod no longer exists.
   */
  readonly diagnose: (pod: { readonly namespace: string; readonly name: string }) => Promise<string | null>
  readonly events: EventRecorder
  readonly onDiagnosed: (gateway: string) => void
  readonly onFailure: (error: unknown) => void
  readonly monotonicMs?: () => number
}

const EVENT_MS = 10_000
const DEGRADED_MS = 60_000
/**
 * Age in milliseconds of a diagnosis after which the pod is diagnosed again, because its NetworkPolicies may
 * have changed.
 */
const DIAGNOSIS_MS = 60_000
/** Maximum number of pods of a Gateway that are diagnosed. Further pods are reported without a cause. */
const MAX_DIAGNOSED = 20
const STALE = 'the control plane does not respond to the operator either'

type Lost = {
  readonly pod: GovernedPod
  readonly since: number
  cause: string | null
  diagnosedAt: number | null
  isDiagnosing: boolean
}

export function createDisconnections(deps: DisconnectionsDeps): Disconnections {
  const { monotonicMs = () => performance.now() } = deps
  const gateways = new Map<string, ReadonlyMap<string, Lost>>()

  async function diagnose(gateway: string, lost: Lost, isStale: boolean): Promise<void> {
    lost.isDiagnosing = true
    try {
      const { namespace = '', name } = lost.pod.metadata
      lost.cause = isStale ? STALE : await deps.diagnose({ namespace, name })
      recordEvents(deps.events, lost)
    } catch (error) {
      // The informer cache can list a pod for a moment after its deletion.
      if (!hasCode(error, 'not_found')) deps.onFailure(error)
    } finally {
      lost.isDiagnosing = false
      lost.diagnosedAt = monotonicMs()
    }
    deps.onDiagnosed(gateway)
  }

  function due({ since, diagnosedAt, isDiagnosing }: Lost, now: number): boolean {
    if (isDiagnosing || now - since < EVENT_MS) return false
    return diagnosedAt === null || now - diagnosedAt >= DIAGNOSIS_MS
  }

  return {
    of(gateway, observed) {
      const now = monotonicMs()
      const before = gateways.get(gateway)
      const lost = disconnected(observed).map(
        (pod) => before?.get(pod.metadata.uid) ?? { ...UNDIAGNOSED, pod, since: now },
      )
      if (lost.length === 0) gateways.delete(gateway)
      else gateways.set(gateway, new Map(lost.map((each) => [each.pod.metadata.uid, each])))
      for (const each of lost.slice(0, MAX_DIAGNOSED))
        if (due(each, now)) void diagnose(gateway, each, observed.isStale)
      return byCause(lost.filter(({ since }) => now - since >= DEGRADED_MS))
    },
    dueMs(gateway) {
      const now = monotonicMs()
      const times = [...(gateways.get(gateway)?.values() ?? [])].flatMap(({ since, diagnosedAt }) => [
        ...[since + EVENT_MS, since + DEGRADED_MS],
        ...(diagnosedAt === null ? [] : [diagnosedAt + DIAGNOSIS_MS]),
      ])
      const left = times.filter((at) => at > now).map((at) => at - now + 1)
      return left.length === 0 ? null : Math.min(...left)
    },
  }
}

const UNDIAGNOSED = { cause: null, diagnosedAt: null, isDiagnosing: false } as const

function disconnected({ unready, processes }: ObservedPods): readonly GovernedPod[] {
  if (processes === null) return []
  const uids = new Set(processes.map((process) => process.pod_uid))
  // Control planes of earlier versions do not name the pod of a process. For these processes, each pod of the agent
  // counts as connected.
  const agents = new Set(processes.flatMap(({ pod_uid: uid, agent }) => (uid === null ? (agent ?? []) : [])))
  return unready.filter(({ metadata, agent }) => !uids.has(metadata.uid) && !agents.has(agent ?? ''))
}

function byCause(lost: readonly Lost[]): readonly Disconnected[] {
  const groups = Map.groupBy(lost, ({ cause }) => cause ?? '')
  return [...groups]
    .map(([cause, all]) => ({ cause, pods: all.map(({ pod }) => keyOf(pod)).sort() }))
    .sort((a, b) => (a.cause < b.cause ? -1 : 1))
}

/**
 * Records an Event on the pod, and one on the owner of the pod. The Event on the owner does not name the pod, so that
 * one Event covers all pods of the owner with the same cause.
 */
function recordEvents(events: EventRecorder, { pod, cause }: Lost): void {
  const { namespace = '' } = pod.metadata
  const why = egressCauseText(cause)
  void events.record({ apiVersion: 'v1', kind: 'Pod', metadata: pod.metadata }, noteOf('this pod', why))
  const { owner } = pod
  if (owner === null) return
  const { apiVersion, kind, name, uid } = owner
  const target: EventTarget = { apiVersion, kind, metadata: { name, uid, namespace, resourceVersion: '' } }
  void events.record(target, noteOf(`a pod of this ${kind}`, why))
}

function noteOf(whose: string, why: string) {
  return {
    type: 'Warning' as const,
    reason: 'SidecarNotConnected',
    action: 'Connect',
    note: `The sidecar of ${whose} has no connection to the control plane, so the pod does not become ready: ${why}`,
  }
}
