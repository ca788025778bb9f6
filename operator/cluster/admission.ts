import type { Logger } from 'pino'
import type { ClusterConfig } from '../config.ts'
import type { Bypassing } from '../guard/watchdog.ts'
import type { ReadinessCheck } from '../health-server.ts'
import type { KubeClient } from '../kube/client.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import type { OperatorMetrics, Validity } from '../metrics.ts'
import type { InformerCaches } from './custom-resources.ts'
import type { Informers } from './informer-caches.ts'
import type { PodName } from './leader.ts'
import type { PodIndex } from './pods/pod-index.ts'
import type { Sandboxes } from './pods/sandboxes.ts'

/**
 * Component that injects sidecars into pods and guards governed pods. Every replica of the operator runs it, leader or
 * not.
 */
export type AdmissionComponent = AsyncDisposable & {
  readonly checks: readonly ReadinessCheck[]
  /**
   * Returns the pods that bypass or can bypass their gateway, as the last sweep of the watchdog over all pods found
   * them.
   */
  readonly bypassing?: () => Bypassing
  /**
   * Returns a sentence about the NetworkPolicies that prevent a sidecar from reaching the control plane; null if no
   * NetworkPolicy does.
   */
  readonly egressCause?: (pod: PodName, signal: AbortSignal) => Promise<string | null>
  /**
   * Reports whether the NetworkPolicy that isolates pods with `interception: proxyEnv` is stored in the
   * namespace.
   */
  readonly isIsolated?: (namespace: string) => boolean
  /** Returns the certificates of the webhook. The key is the name of the certificate in the metrics. */
  readonly certificates?: () => ReadonlyMap<string, Validity>
  /** Called when a Gateway was added, changed or deleted. */
  readonly gatewaysChanged?: () => void
  /** Called when a SandboxTemplate was added, changed or deleted. */
  readonly templatesChanged?: () => void
}

export type AdmissionDeps = {
  readonly client: KubeClient
  readonly config: ClusterConfig
  readonly log: Logger
  readonly instance: string
  readonly caches: InformerCaches
  readonly namespaces: Omit<Namespaces, 'stop'>
  readonly pods: Pick<Informers['pods'], 'isSynced'>
  readonly podIndex: Pick<PodIndex, 'agentElsewhere' | 'factsOf' | 'proxiedNamespaces'>
  readonly sandboxes: Omit<Sandboxes, 'stop'>
  readonly isLeader: () => boolean
  /** Called with the Gateways (`namespace/name`) whose set of ungoverned pods changed. */
  readonly onBypassing: (gateways: ReadonlySet<string>) => void
  /**
   * Called with the Gateways (`namespace/name`) that have isolated pods in a namespace where the
   * NetworkPolicy for pods with `interception: proxyEnv` was added, changed or deleted.
   */
  readonly onIsolation: (gateways: ReadonlySet<string>) => void
  readonly onReview: OperatorMetrics['reviewed']
}
