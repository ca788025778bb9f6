import { LAYERS, PROXIED_LAYERS } from '../../../core/inject/interception.ts'
import { createAgentIndex } from './agent-index.ts'
import type { GovernedPod } from './governed-pods.ts'

/** The facts about the pods of one Gateway that the status of the Gateway shows. */
export type PodFacts = {
  /** Number of pods that have not ended. */
  readonly governed: number
  readonly ready: number
  readonly cooperative: number
  /** Namespaces of pods with `interception: proxyEnv` whose label says that a NetworkPolicy isolates them. */
  readonly isolatedIn: readonly string[]
  /** Number of captured pods whose programs change their user. */
  readonly changingUser: number
  /** Number of captured pods with a container whose image chooses the user. */
  readonly unknownUser: number
  /** Numbers of pods by the seccomp profile (`localhostProfile`) that every container of their agent has. */
  readonly seccompProfiles: ReadonlyMap<string, number>
  /**
   * Pods without the label of `inbound: deny`, as `namespace/name`. This is the live set of the index, not a copy: with
   * `inbound: allow` it contains every pod of the Gateway.
   */
  readonly admittingInbound: ReadonlySet<string>
  /** Pods whose sidecar has not been ready for over 60 s, as `namespace/name`. */
  readonly notReady: readonly string[]
  /** Pods whose capture rules could not be set. */
  readonly captureFailures: readonly CaptureFailure[]
  /** Texts about agents that run both under this Gateway and under others. Each text names the other Gateways. */
  readonly sharedAgents: readonly string[]
}

export type CaptureFailure = {
  readonly metadata: GovernedPod['metadata']
  readonly reason: string
}

/** A pod that is being admitted. */
export type AdmittedPod = {
  /** `namespace/name` of the agent. */
  readonly agent: string
  /** `namespace/name` of the Gateway. */
  readonly gateway: string
  /** `KIND NAME` of the workload that created the pod; null for a pod without a controller. */
  readonly workload: string | null
  /** True when no other workload may use the agent name, not even under the same Gateway. */
  readonly isExclusive: boolean
}

/** Index of the governed pods. The cost of a change does not depend on the number of pods and Gateways. */
export type PodIndex = {
  /** Stores the state of a pod; `undefined` removes a deleted pod. Returns the Gateways whose facts changed. */
  set(key: string, pod: GovernedPod | undefined): ReadonlySet<string>
  factsOf(gateway: string): PodFacts
  /**
   * Returns the namespaces in which pods with `interception: proxyEnv` run, including pods that were injected before
   * the `interception` of their Gateway changed.
   */
  proxiedNamespaces(): ReadonlySet<string>
  /** Returns the pods whose sidecar has started and is not ready. */
  unready(gateway: string): readonly GovernedPod[]
  /**
   * Returns the milliseconds until the next pod has been unready for over 60 s; null if no pod became unready within
   * the last 60 s.
   */
  dueMs(gateway: string): number | null
  /**
   * Finds another running pod of the same agent, so that the rules, quotas and kill switches of exactly one Gateway
   * apply to an agent. The pod belongs to another Gateway; if the admitted pod is exclusive, to any Gateway. Pods of
   * the same workload are ignored: a workload may move to another Gateway, and its old pods end.
   */
  agentElsewhere(admitted: AdmittedPod): GovernedPod | undefined
}

/** Time in milliseconds after which a sidecar that is not ready degrades its Gateway. */
const NOT_READY_MS = 60_000

export function createPodIndex(monotonicMs: () => number = () => performance.now()): PodIndex {
  const pods = new Map<string, GovernedPod>()
  const groups = new Map<string, Group>()
  const agents = createAgentIndex()
  const proxied = new Map<string, number>()

  function count(key: string, pod: GovernedPod, sign: 1 | -1): void {
    countPod(groups, { key, pod, sign, now: monotonicMs() })
    if (isProxied(pod) && !pod.isOver) addTo(proxied, pod.metadata.namespace ?? '', sign)
  }

  return {
    set(key, pod) {
      const before = pods.get(key)
      if (isSame(before, pod)) return new Set()
      if (before !== undefined) count(key, before, -1)
      if (pod === undefined) pods.delete(key)
      else {
        pods.set(key, pod)
        count(key, pod, 1)
      }
      const own = [before?.gateway, pod?.gateway].filter((gateway) => gateway != null)
      return new Set([...own, ...agents.replace(key, before, pod)])
    },
    factsOf(gateway) {
      const group = groups.get(gateway) ?? emptyGroup()
      const { notReadySince: _since, failed, isolated, ...counts } = group
      const captureFailures = [...failed.values()]
      const notReady = notReadyTooLong(group, monotonicMs())
      const isolatedIn = [...isolated.keys()].sort()
      return { ...counts, isolatedIn, notReady, captureFailures, sharedAgents: agents.sharedBy(gateway) }
    },
    proxiedNamespaces: () => new Set(proxied.keys()),
    unready(gateway) {
      const keys = [...(groups.get(gateway)?.notReadySince.keys() ?? [])]
      return keys.flatMap((key) => pods.get(key) ?? []).filter((pod) => pod.hasSidecarStarted)
    },
    dueMs(gateway) {
      const now = monotonicMs()
      for (const since of groups.get(gateway)?.notReadySince.values() ?? [])
        if (now - since <= NOT_READY_MS) return since + NOT_READY_MS - now + 1
      return null
    },
    agentElsewhere: (admitted) => agentElsewhere(agents.gatewaysOf(admitted.agent), admitted),
  }
}

function agentElsewhere(
  gateways: ReadonlyMap<string, ReadonlyMap<string, GovernedPod>>,
  { gateway, workload, isExclusive }: AdmittedPod,
): GovernedPod | undefined {
  for (const [name, pods] of gateways) {
    if (name === gateway && !isExclusive) continue
    const found = [...pods.values()].find((pod) => pod.workload === null || pod.workload !== workload)
    if (found !== undefined) return found
  }
  return undefined
}

/** Counts and sets of the governed pods of one Gateway. A Gateway without governed pods has no group. */
type Group = {
  governed: number
  ready: number
  cooperative: number
  /** Numbers of pods whose label says that a NetworkPolicy isolates them, by namespace. */
  readonly isolated: Map<string, number>
  changingUser: number
  unknownUser: number
  /** Numbers of pods by the seccomp profile of their agent. */
  readonly seccompProfiles: Map<string, number>
  /** Keys of the pods without the label of `inbound: deny`. */
  readonly admittingInbound: Set<string>
  /** Monotonic time in milliseconds since which a pod is not ready, by key of the pod, earliest first. */
  readonly notReadySince: Map<string, number>
  /** Pods whose capture rules could not be set, by key of the pod. */
  readonly failed: Map<string, CaptureFailure>
}

function emptyGroup(): Group {
  return {
    governed: 0,
    ready: 0,
    cooperative: 0,
    isolated: new Map(),
    changingUser: 0,
    unknownUser: 0,
    seccompProfiles: new Map(),
    admittingInbound: new Set(),
    notReadySince: new Map(),
    failed: new Map(),
  }
}

type Counting = {
  readonly key: string
  readonly pod: GovernedPod
  readonly sign: 1 | -1
  readonly now: number
}

function countPod(groups: Map<string, Group>, { key, pod, sign, now }: Counting): void {
  const { gateway } = pod
  if (gateway === null || pod.isOver) return
  const group = groups.get(gateway) ?? emptyGroup()
  countIn(group, pod, sign)
  if (sign === -1) group.notReadySince.delete(key)
  else if (!pod.isReady && !pod.isDeleting) group.notReadySince.set(key, now)
  if (sign === -1) group.admittingInbound.delete(key)
  else if (!pod.isInboundDenied) group.admittingInbound.add(key)
  countFailure(group, { key, pod, sign })
  if (group.governed === 0) groups.delete(gateway)
  else groups.set(gateway, group)
}

function countFailure({ failed }: Group, { key, pod, sign }: Omit<Counting, 'now'>): void {
  const { metadata, captureFailure: reason, isDeleting } = pod
  if (sign === -1) failed.delete(key)
  else if (reason !== null && !isDeleting) failed.set(key, { metadata, reason })
}

function countIn(group: Group, pod: GovernedPod, sign: 1 | -1): void {
  const { isReady, layer, changesUser, hasUnknownUser, seccompProfile } = pod
  group.governed += sign
  group.ready += sign * Number(isReady)
  group.cooperative += sign * Number(layer === LAYERS.proxyEnv)
  if (layer === LAYERS.isolated) addTo(group.isolated, pod.metadata.namespace ?? '', sign)
  group.changingUser += sign * Number(changesUser && !isProxied(pod))
  group.unknownUser += sign * Number(hasUnknownUser && !isProxied(pod))
  if (seccompProfile !== null) addTo(group.seccompProfiles, seccompProfile, sign)
}

function isProxied({ layer }: GovernedPod): boolean {
  return PROXIED_LAYERS.includes(layer ?? '')
}

/** Adds to a count. A count of zero has no entry. */
function addTo(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

function notReadyTooLong({ notReadySince }: Group, now: number): string[] {
  const keys: string[] = []
  for (const [key, since] of notReadySince) {
    if (now - since <= NOT_READY_MS) break
    keys.push(key)
  }
  return keys
}

const JUDGED = [
  ...(['gateway', 'agent', 'workload', 'layer'] as const),
  ...(['isReady', 'isOver', 'isDeleting', 'changesUser', 'hasUnknownUser', 'seccompProfile'] as const),
  ...(['captureFailure', 'hasSidecarStarted', 'isInboundDenied'] as const),
]

/**
 * Reports whether two states of a pod are equal in the fields that count for its Gateway. Most pod events change none
 * of these fields.
 */
function isSame(before: GovernedPod | undefined, now: GovernedPod | undefined): boolean {
  return (
    JUDGED.every((field) => before?.[field] === now?.[field]) &&
    (before === undefined) === (now === undefined)
  )
}
