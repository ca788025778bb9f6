import { randomBytes } from 'node:crypto'
import { KubeConfig } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import { INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { ClusterConfig } from '../config.ts'
import { createDesiredClient } from '../control/control-plane-client.ts'
import { createControlPlaneHttp } from '../control/control-plane-http.ts'
import { createKillRelay } from '../control/kill-relay.ts'
import { createKillWatch, type KillWatch } from '../control/kill-watch.ts'
import { type InjectedPod, injectedPod } from '../control/pod-metadata.ts'
import { createPodReports } from '../control/pod-reports.ts'
import { createReplicas } from '../control/replicas.ts'
import { type HealthServer, type ReadinessCheck, startHealthServer } from '../health-server.ts'
import { createKubeClient, type KubeClient } from '../kube/client.ts'
import { createElection, type LeaseTiming } from '../kube/lease.ts'
import { createNamespaces, type Namespaces } from '../kube/namespaces.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type Reflector, type ReflectorTiming } from '../kube/reflector.ts'
import { createOperatorMetrics, type OperatorMetrics } from '../metrics.ts'
import { type Caches, KINDS, type OurObject, queueKey } from './custom-resources.ts'
import { type GovernedPod, governedPod } from './governed-pods.ts'
import { createLeader, type LeaderTiming } from './leader.ts'

export type ClusterOperator = AsyncDisposable & {
  /** Resolves when everything was listed once and stops are relayed. */
  readonly synced: Promise<void>
  readonly healthPort: number
  isLeader(): boolean
}

/** What only tests change. */
export type ClusterTiming = {
  readonly watch?: ReflectorTiming
  readonly lease?: LeaseTiming
  readonly leader?: LeaderTiming
  readonly killPollMs?: number
  readonly podCompareMs?: number
  readonly maxStalenessMs?: number
}

/** What else runs on every replica of the operator, leader or not, and on the same connection: the webhooks. */
export type Companion = AsyncDisposable & {
  readonly checks: readonly ReadinessCheck[]
  /** Pods that should be governed and are not, by `namespace/name` of the Gateway: its status says so. */
  readonly bypassing?: () => ReadonlyMap<string, readonly string[]>
  /** A Gateway came, went or reads differently. */
  readonly gatewaysChanged?: () => void
}
export type CompanionDeps = {
  readonly client: KubeClient
  readonly config: ClusterConfig
  readonly log: Logger
  readonly instance: string
  readonly caches: Caches
  readonly namespaces: Omit<Namespaces, 'stop'>
  /** Every governed pod, as it is known now. */
  readonly pods: Pick<Reflector<GovernedPod>, 'list'>
}

export type ClusterOperatorDeps = {
  readonly config: ClusterConfig
  readonly log: Logger
  readonly timing?: ClusterTiming
  readonly companions?: ReadonlyArray<(deps: CompanionDeps) => Promise<Companion>>
}

/** A watch that is silent for longer is not believed any more: bookmarks come once a minute. */
const MAX_STALENESS_MS = 180_000

/** The operator of a cluster: what writes is behind the Lease, what stops and what admits is not. */
export async function createClusterOperator(deps: ClusterOperatorDeps): Promise<ClusterOperator> {
  const { config, log, timing = {}, companions = [] } = deps
  const client = createKubeClient(kubeConfigOf(config))
  const http = createControlPlaneHttp(config)
  const desired = createDesiredClient(http)
  const metrics = createOperatorMetrics()
  const instance = `${config.podName}-${randomBytes(3).toString('hex')}`
  const replicas = createReplicas({ ...config, urls: config.peers, host: config.peersHost, log })
  const relay = createKillRelay({ client: desired, replicas, log })
  const copies = createCopies({ client, log, metrics, timing })
  const killWatch = createKillWatch({
    ...{ client, relay, log, metrics, gateways: copies.caches.Gateway, namespace: config.namespace },
    governedPods: () => copies.injected.list(),
    ...(timing.killPollMs === undefined ? {} : { pollMs: timing.killPollMs }),
  })
  const { podCompareMs: compareMs, maxStalenessMs = MAX_STALENESS_MS } = timing
  const podReports = createPodReports({ client, desired, log, pods: copies.injected, compareMs })
  const started: Companion[] = []
  const leader = createLeader({
    ...{ client, desired, replicas, metrics, log, instance, namespace: config.namespace },
    ...{ caches: copies.caches, pods: copies.pods, namespaces: copies.namespaces },
    ...{ bypassing: () => bypassingOf(started), floorRules: config.floorRules },
    ...(timing.leader === undefined ? {} : { timing: timing.leader }),
  })
  const gatewayChanged = (key: string) => {
    killWatch.gatewayChanged(key)
    for (const companion of started) companion.gatewaysChanged?.()
  }
  copies.listen({
    changed(kind, key) {
      if (kind === 'Gateway') gatewayChanged(key)
      leader.changed(queueKey(kind, key))
    },
    podsChanged: leader.podsChanged,
    injectedChanged: podReports.changed,
  })
  const election = createElection({
    ...{ client, log, identity: instance, namespace: config.namespace, name: config.leaseName },
    lead: leader.lead,
    ...(timing.lease === undefined ? {} : { timing: timing.lease }),
  })
  for (const start of companions)
    started.push(await start({ ...{ client, config, log, instance }, ...copies }))
  metrics.observe({
    staleness: copies.stalenessS,
    queueDepth: leader.depth,
    isLeader: election.isLeader,
    stopsBehindS: () => relay.behindMs() / 1_000,
  })
  const own = readinessChecks(copies, killWatch, maxStalenessMs)
  const checks = [...own, ...started.flatMap((each) => each.checks)]
  const health: HealthServer = await startHealthServer({
    ...{ host: config.healthHost, port: config.healthPort, checks, scrape: metrics.scrape },
  })
  return {
    synced: copies.synced,
    healthPort: health.port,
    isLeader: election.isLeader,
    async [Symbol.asyncDispose]() {
      // First what writes, so that a successor begins at once; what admits pods last.
      await election.stop()
      await killWatch[Symbol.asyncDispose]()
      await relay[Symbol.asyncDispose]()
      await podReports[Symbol.asyncDispose]()
      await copies.stop()
      for (const companion of started) await companion[Symbol.asyncDispose]()
      await health[Symbol.asyncDispose]()
      http[Symbol.dispose]()
      client[Symbol.dispose]()
    },
  }
}

function bypassingOf(companions: readonly Companion[]): ReadonlyMap<string, readonly string[]> {
  return new Map(companions.flatMap(({ bypassing }) => (bypassing === undefined ? [] : [...bypassing()])))
}

function kubeConfigOf({ kubeconfig }: ClusterConfig): KubeConfig {
  const config = new KubeConfig()
  if (kubeconfig === null) config.loadFromCluster()
  else config.loadFromFile(kubeconfig)
  return config
}

type Listener = {
  changed(kind: ResourceKind, key: string): void
  podsChanged(): void
  injectedChanged(key: string): void
}

type Copies = {
  readonly caches: Caches
  readonly namespaces: Namespaces
  readonly pods: Reflector<GovernedPod>
  /** The same pods, metadata alone. */
  readonly injected: Reflector<InjectedPod>
  readonly synced: Promise<void>
  listen(listener: Listener): void
  isSynced(): boolean
  /** Resource -> seconds. */
  stalenessS(): ReadonlyMap<string, number>
  stop(): Promise<void>
}

type CopiesDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: OperatorMetrics
  readonly timing: ClusterTiming
}

/** Copies of what the operator reads all the time, on every replica, so that a new leader need not begin with lists. */
function createCopies({ client, log, metrics, timing }: CopiesDeps): Copies {
  let listener: Listener = { changed: () => {}, podsChanged: () => {}, injectedChanged: () => {} }
  const watching = timing.watch === undefined ? {} : { timing: timing.watch }
  const copyOf = <K extends ResourceKind>(kind: K): Reflector<OurObject<K>> =>
    createReflector<OurObject<K>>({
      ...{ client, log, metrics, resource: RESOURCES[kind].plural, ...watching },
      selection: { path: pathOf(RESOURCES[kind]) },
      onChange: (key) => listener.changed(kind, key),
    })
  const caches: Caches = {
    Gateway: copyOf('Gateway'),
    Connector: copyOf('Connector'),
    Permission: copyOf('Permission'),
    Policy: copyOf('Policy'),
  }
  const namespaces = createNamespaces({ ...{ client, log, metrics, ...watching }, onChange: () => undefined })
  const pods = createReflector<GovernedPod>({
    ...{ client, log, metrics, resource: 'pods', ...watching },
    selection: { path: pathOf(RESOURCES.Pod), labelSelector: `${INJECT_LABEL}=injected` },
    onChange: () => listener.podsChanged(),
    trim: governedPod,
  })
  const injected = createReflector<InjectedPod>({
    ...{ client, log, metrics, resource: 'pod metadata', ...watching },
    selection: { path: pathOf(RESOURCES.Pod), labelSelector: `${INJECT_LABEL}=injected`, metadataOnly: true },
    onChange: (key) => listener.injectedChanged(key),
    trim: injectedPod,
  })
  const all = new Map<string, Reflector<never>>([
    ...KINDS.map((kind) => [RESOURCES[kind].plural, caches[kind] as unknown as Reflector<never>] as const),
    ['namespaces', namespaces as unknown as Reflector<never>],
    ['pods', pods as unknown as Reflector<never>],
    ['pod metadata', injected as unknown as Reflector<never>],
  ])
  return {
    caches,
    namespaces,
    pods,
    injected,
    synced: Promise.all([...all.values()].map(({ synced }) => synced)).then(() => undefined),
    listen(next) {
      listener = next
    },
    isSynced: () => [...all.values()].every((each) => each.isSynced()),
    stalenessS: () => new Map([...all].map(([name, each]) => [name, each.stalenessMs() / 1_000])),
    async stop() {
      await Promise.all([...all.values()].map((each) => each.stop()))
    },
  }
}

/** What this process needs for its own work. A control plane that is away is none of it: pods are admitted without. */
function readinessChecks(
  copies: Copies,
  killWatch: KillWatch,
  maxStalenessMs: number,
): readonly ReadinessCheck[] {
  return [
    {
      name: 'synced',
      problem: () => (copies.isSynced() ? null : 'not everything was listed yet'),
    },
    {
      name: 'watches',
      problem() {
        const silent = [...copies.stalenessS()].filter(([, seconds]) => seconds * 1_000 > maxStalenessMs)
        const names = silent.map(([name]) => name).join(', ')
        return names === '' ? null : `nothing was heard from the API server about ${names}`
      },
    },
    {
      name: 'stops',
      problem: () => (killWatch.stalenessMs() < maxStalenessMs ? null : 'stops could not be read'),
    },
  ]
}
