import { randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import type { SandboxLookup } from '../../core/inject/sandbox.ts'
import { loadKubeconfig } from '../../kube/kubeconfig-access.ts'
import { createPodAccess } from '../../kube/pod-access.ts'
import type { KubeAccess } from '../../kube/transport.ts'
import type { ClusterConfig } from '../config.ts'
import { createControlPlaneClient } from '../control/control-plane-client.ts'
import { createControlPlaneHttp } from '../control/control-plane-http.ts'
import { createKillRelay } from '../control/kill-relay.ts'
import { createKillWatch, type KillWatchTiming } from '../control/kill-watch.ts'
import { createPodReports } from '../control/pod-reports.ts'
import { createReplicas } from '../control/replicas.ts'
import { type HealthServer, startHealthServer } from '../health-server.ts'
import { createKubeClient, type KubeClient } from '../kube/client.ts'
import { createElection, type LeaseTiming } from '../kube/lease.ts'
import type { ReflectorTiming } from '../kube/reflector.ts'
import { createOperatorMetrics, type OperatorMetrics } from '../metrics.ts'
import type { AdmissionComponent, AdmissionDeps } from './admission.ts'
import { queueKey } from './custom-resources.ts'
import { type Informers, startInformers } from './informer-caches.ts'
import { createLeader, type LeaderTiming } from './leader.ts'
import { podCounts } from './pods/pod-counts.ts'
import { type Sandboxes, startSandboxes } from './pods/sandboxes.ts'
import { readinessChecks } from './readiness-checks.ts'

export type ClusterOperator = AsyncDisposable & {
  /** Resolves when every informer cache has its first complete list. */
  readonly synced: Promise<void>
  readonly healthPort: number
  isLeader(): boolean
}

/** Overrides of intervals and limits, for tests. Absent: the default of each component. */
export type ClusterTiming = {
  readonly watch?: ReflectorTiming
  readonly lease?: LeaseTiming
  readonly leader?: LeaderTiming
  readonly kill?: KillWatchTiming
  readonly podCompareMs?: number
  readonly maxStalenessMs?: number
}

export type ClusterOperatorDeps = {
  readonly config: ClusterConfig
  readonly log: Logger
  readonly timing?: ClusterTiming
  /** Opens the admission component. Null or absent when no pods are injected. */
  readonly openAdmission?: ((deps: AdmissionDeps) => Promise<AdmissionComponent>) | null
}

/**
 * Time in milliseconds without data after which a watch counts as stale. The API server sends a bookmark
 * about once a minute.
 */
const MAX_STALENESS_MS = 180_000

/**
 * Composes the operator for a cluster. Only the holder of the Lease reconciles manifests and writes their
 * status. Every replica relays kill switches, reports pods and admits pods.
 */
export async function createClusterOperator(deps: ClusterOperatorDeps): Promise<ClusterOperator> {
  const { config, log, timing = {}, openAdmission = null } = deps
  const client = createKubeClient(await accessOf(config))
  const metrics = createOperatorMetrics()
  const instance = `${config.podName}-${randomBytes(3).toString('hex')}`
  const informers = startInformers({ client, log, metrics, timing: timing.watch })
  const { caches, namespaces, pods, podIndex } = informers
  let sandboxes: Sandboxes | null = null
  const sandboxOf: SandboxLookup['sandboxOf'] = (...name) => sandboxes?.sandboxOf(...name)
  const control = startControl({ client, config, log, timing, metrics, informers, sandboxOf })
  let admission: AdmissionComponent | null = null
  const getAdmission = () => admission
  const { leader, election } = startLeader({
    ...deps,
    client,
    instance,
    metrics,
    informers,
    control,
    getAdmission,
  })
  // Only the admission of pods needs the objects of agent-sandbox.
  if (openAdmission !== null) {
    sandboxes = startSandboxes({
      client,
      log,
      metrics,
      timing: timing.watch,
      onSandbox: control.podReports.sandboxChanged,
      onTemplate: () => getAdmission()?.templatesChanged?.(),
    })
    admission = await openAdmission({
      client,
      config,
      log,
      instance,
      caches,
      namespaces,
      pods,
      podIndex,
      sandboxes,
      isLeader: election.isLeader,
      onBypassing: leader.gatewaysChanged,
      onIsolation: leader.gatewaysChanged,
      onReview: metrics.reviewed,
    })
  }
  const health = await startHealth({ ...deps, metrics, informers, control, leader, election, admission })
  return {
    synced: informers.synced,
    healthPort: health.port,
    isLeader: election.isLeader,
    async [Symbol.asyncDispose]() {
      // The Lease is released first, so that another replica acquires it without waiting for its expiry.
      await Promise.all([election.stop(), admission?.[Symbol.asyncDispose]()])
      await control[Symbol.asyncDispose]()
      await informers.stop()
      await sandboxes?.stop()
      await health[Symbol.asyncDispose]()
      client[Symbol.dispose]()
    },
  }
}

type LeadingDeps = ClusterOperatorDeps & {
  readonly client: KubeClient
  readonly instance: string
  readonly metrics: OperatorMetrics
  readonly informers: Informers
  readonly control: ReturnType<typeof startControl>
  readonly getAdmission: () => AdmissionComponent | null
}

/** Composes the leader and its election. Delivers the changes of the informer caches to the leader. */
function startLeader(deps: LeadingDeps) {
  const { client, config, log, timing = {}, instance, metrics, informers, control, getAdmission } = deps
  const { caches, pods, podIndex, namespaces } = informers
  const { namespace, floorRules, leaseName } = config
  const leader = createLeader({
    client,
    controlPlane: control.controlPlane,
    replicas: control.replicas,
    caches,
    pods,
    podIndex,
    namespaces,
    metrics,
    log,
    instance,
    namespace,
    floorRules,
    bypassing: () => getAdmission()?.bypassing?.() ?? new Map(),
    isIsolated: (namespace) => getAdmission()?.isIsolated?.(namespace) ?? false,
    diagnose: async (...given) => (await getAdmission()?.egressCause?.(...given)) ?? null,
    ...(timing.leader === undefined ? {} : { timing: timing.leader }),
  })
  informers.listen({
    changed(kind, key) {
      if (kind === 'Gateway') control.killWatch.gatewayChanged(key)
      if (kind === 'Gateway') getAdmission()?.gatewaysChanged?.()
      leader.changed(queueKey(kind, key))
    },
    podsChanged: leader.gatewaysChanged,
    podMetadataChanged: control.podReports.changed,
  })
  const election = createElection({
    client,
    log,
    identity: instance,
    namespace,
    name: leaseName,
    lead: leader.lead,
    ...(timing.lease === undefined ? {} : { timing: timing.lease }),
  })
  return { leader, election }
}

type ControlDeps = {
  readonly client: KubeClient
  readonly config: ClusterConfig
  readonly log: Logger
  readonly timing: ClusterTiming
  readonly metrics: OperatorMetrics
  readonly informers: Informers
  readonly sandboxOf: SandboxLookup['sandboxOf']
}

/**
 * Composes the connection to the control plane, the relay of kill switches and the reports of pods. They run
 * on every replica, with or without the Lease.
 */
function startControl({ client, config, log, timing, metrics, informers, sandboxOf }: ControlDeps) {
  const { caches, podMetadata: pods } = informers
  const { kill, podCompareMs: compareMs } = timing
  const http = createControlPlaneHttp(config)
  const controlPlane = createControlPlaneClient(http)
  const replicas = createReplicas({ ...config, urls: config.peers, host: config.peersHost, log })
  const relay = createKillRelay({ client: controlPlane, replicas, log })
  const killWatch = createKillWatch({
    client,
    relay,
    log,
    metrics,
    gateways: caches.Gateway,
    namespace: config.namespace,
    governedPods: pods.list,
    ...(kill === undefined ? {} : { timing: kill }),
  })
  const podReports = createPodReports({ client, controlPlane, log, pods, sandboxOf, compareMs })
  return {
    controlPlane,
    replicas,
    relay,
    killWatch,
    podReports,
    async [Symbol.asyncDispose]() {
      for (const each of [killWatch, relay, podReports]) await each[Symbol.asyncDispose]()
      http[Symbol.dispose]()
    },
  }
}

type HealthDeps = Pick<LeadingDeps, 'config' | 'timing' | 'metrics' | 'informers' | 'control'> &
  ReturnType<typeof startLeader> & { readonly admission: AdmissionComponent | null }

/** Connects the gauges with their values, and serves the metrics and the readiness checks. */
function startHealth(deps: HealthDeps): Promise<HealthServer> {
  const { config, timing = {}, metrics, informers, control, leader, election, admission } = deps
  const { relay, killWatch } = control
  metrics.observe({
    staleness: informers.stalenessS,
    queueDepth: leader.depth,
    isLeader: election.isLeader,
    killSwitchesBehindS: () => relay.behindMs() / 1_000,
    pods: () => podCounts(informers, admission?.bypassing?.() ?? new Map()),
    certificates: () => admission?.certificates?.() ?? new Map(),
    secrets: leader.secrets,
  })
  const own = readinessChecks(informers, killWatch, timing.maxStalenessMs ?? MAX_STALENESS_MS)
  return startHealthServer({
    host: config.healthHost,
    port: config.healthPort,
    scrape: metrics.scrape,
    checks: [...own, ...(admission?.checks ?? [])],
  })
}

async function accessOf({ kubeconfig, podApi }: ClusterConfig): Promise<KubeAccess> {
  if (kubeconfig !== null) return loadKubeconfig(kubeconfig)
  if (podApi !== null) return createPodAccess(podApi)
  throw new ChaperoneError('validation', {
    detail: 'Outside of a cluster, set KUBECONFIG to a kubeconfig file.',
  })
}
