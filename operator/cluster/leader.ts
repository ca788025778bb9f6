import type { Logger } from 'pino'
import type { FloorRules } from '../../core/crd/gateway/floors.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import type { Replicas } from '../control/replicas.ts'
import type { Bypassing } from '../guard/watchdog.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { keyOf } from '../kube/objects.ts'
import type { Reflector } from '../kube/reflector.ts'
import { untilAborted } from '../kube/until-aborted.ts'
import type { OperatorMetrics } from '../metrics.ts'
import { DEPENDENCY_ORDER, TIGHTENING_ORDER } from '../reconcile/kind-order.ts'
import { type InformerCaches, queueKey } from './custom-resources.ts'
import { createTerm, type Term } from './leader-term.ts'
import type { GovernedPod } from './pods/governed-pods.ts'
import type { PodIndex } from './pods/pod-index.ts'
import { NO_SECRETS, type SecretCounts } from './secrets.ts'

export type LeaderDeps = {
  readonly client: KubeClient
  readonly controlPlane: ControlPlaneClient
  readonly replicas: Replicas
  readonly caches: InformerCaches
  readonly pods: Pick<Reflector<GovernedPod>, 'synced'>
  readonly podIndex: Pick<PodIndex, 'factsOf' | 'dueMs' | 'unready'>
  readonly namespaces: Pick<Namespaces, 'list' | 'synced'>
  readonly bypassing: () => Bypassing
  /** Reports whether a NetworkPolicy isolates the pods with `interception: proxyEnv` of the namespace. */
  readonly isIsolated: (namespace: string) => boolean
  /** Returns a sentence about why a sidecar may not reach the control plane; null if no cause is found. */
  readonly diagnose: (pod: PodName, signal: AbortSignal) => Promise<string | null>
  readonly floorRules: FloorRules
  readonly metrics: OperatorMetrics
  readonly log: Logger
  readonly instance: string
  readonly namespace: string
  readonly timing?: LeaderTiming
}

export type PodName = { readonly namespace: string; readonly name: string }

export type LeaderTiming = {
  readonly sweepMs: number
  /** Minimum number of milliseconds between two reads of a Secret that is not watched. */
  readonly secretsMs: number
  /** Minimum number of milliseconds between two reads of the state of a control plane replica. */
  readonly stateMs: number
  /**
   * Minimum number of milliseconds between two status writes that change only the numbers of pods and
   * processes of a Gateway.
   */
  readonly countsMs: number
  /** Interval in milliseconds at which the Permissions of grants are compared with the grants in force. */
  readonly grantsMs: number
}

/** The work of the replica that holds the Lease: it reconciles all objects, and writes their status. */
export type Leader = {
  /** Leads until the signal is aborted. Resolves when all work in flight has ended. */
  lead(signal: AbortSignal): Promise<void>
  /** Called when an object changed in its informer cache. A replica that does not lead ignores the call. */
  changed(key: string): void
  /** Called with the Gateways (`namespace/name`) whose status may change; null means all Gateways. */
  gatewaysChanged(gateways: ReadonlySet<string> | null): void
  depth(): number
  /** Returns the counts of the Secrets that Connectors refer to; all are zero on a replica that does not lead. */
  secrets(): SecretCounts
}

export function createLeader(deps: LeaderDeps): Leader {
  const { caches, pods, namespaces, metrics } = deps
  let queue: Term['queue'] | null = null
  let secrets: Term['secrets'] | null = null

  function enqueue(key: string, afterMs = 0): void {
    if (afterMs === 0) queue?.add(key)
    else queue?.addAfter(key, afterMs)
  }

  function enqueueAll(): void {
    for (const kind of TIGHTENING_ORDER)
      for (const object of caches[kind].list()) enqueue(queueKey(kind, keyOf(object)))
  }

  function gatewaysChanged(gateways: ReadonlySet<string> | null): void {
    for (const key of gateways ?? caches.Gateway.list().map(keyOf))
      if (caches.Gateway.get(key) !== undefined) enqueue(queueKey('Gateway', key))
  }

  async function lead(signal: AbortSignal): Promise<void> {
    metrics.leading()
    const caught = DEPENDENCY_ORDER.map((kind) => caches[kind].synced)
    if (!(await untilAborted(Promise.all([...caught, pods.synced, namespaces.synced]), signal))) return
    const term = createTerm(deps, signal, { enqueue, enqueueAll, gatewaysChanged })
    // The first read sets the baseline: acknowledgements from before this term must not count as changes.
    await term.acknowledgements.read()
    queue = term.queue
    secrets = term.secrets
    enqueueAll()
    await term.follow()
    queue = null
    secrets = null
    await term.queue.stop()
  }

  return {
    lead,
    changed: (key) => enqueue(key),
    gatewaysChanged,
    depth: () => queue?.depth() ?? 0,
    secrets: () => secrets?.counts() ?? NO_SECRETS,
  }
}
