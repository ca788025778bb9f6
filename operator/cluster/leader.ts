import type { Logger } from 'pino'
import type { FloorRules } from '../../core/crd/floors.ts'
import type { PodRef } from '../../core/wire/operator.ts'
import { createAcknowledgements } from '../control/acknowledgements.ts'
import type { DesiredClient } from '../control/control-plane-client.ts'
import { createOutageLog } from '../control/outage-log.ts'
import type { Replicas } from '../control/replicas.ts'
import { boundTo } from '../kube/bound-client.ts'
import type { KubeClient } from '../kube/client.ts'
import { createEventRecorder, type EventNote, type EventTarget } from '../kube/events.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { keyOf } from '../kube/objects.ts'
import { createWorkQueue, type WorkQueue } from '../kube/queue.ts'
import type { Reflector } from '../kube/reflector.ts'
import { sleep } from '../kube/sleep.ts'
import { untilAborted } from '../kube/until-aborted.ts'
import type { OperatorMetrics } from '../metrics.ts'
import { createHandOver } from '../reconcile/push.ts'
import { createStatusWriter } from '../status/status-writer.ts'
import { createController, goingGateway } from './controller.ts'
import { type Caches, KINDS, queueKey, splitQueueKey } from './custom-resources.ts'
import { createFinalizer } from './finalizer.ts'
import type { GovernedPod } from './governed-pods.ts'
import { reportNamespaceLabels } from './namespace-labels.ts'
import { createSecrets } from './secrets.ts'
import { sweep } from './sweep.ts'

export type LeaderDeps = {
  readonly client: KubeClient
  readonly desired: DesiredClient
  readonly replicas: Replicas
  readonly caches: Caches
  readonly pods: Reflector<GovernedPod>
  readonly namespaces: Pick<Namespaces, 'list' | 'synced'>
  readonly bypassing: () => ReadonlyMap<string, readonly string[]>
  readonly floorRules: FloorRules
  readonly metrics: OperatorMetrics
  readonly log: Logger
  readonly instance: string
  readonly namespace: string
  readonly timing?: LeaderTiming
}

export type LeaderTiming = {
  readonly sweepMs: number
  readonly secretsMs: number
  readonly stateMs: number
  /** How long a deleted Gateway waits for the control plane. */
  readonly releaseMs: number
}

const TIMING: LeaderTiming = { sweepMs: 60_000, secretsMs: 3_000, stateMs: 1_000, releaseMs: 10_000 }
/** Bounds the objects of one version. Status writes have a lower limit of their own. */
const CONCURRENCY = 256
/** The order when the objects do not fit into one version: policies tighten, permissions loosen. */
const TIGHTENING_FIRST = [
  'Gateway',
  'Policy',
  'Connector',
  'Permission',
] as const satisfies (typeof KINDS)[number][]

/** What one of the replicas does at a time: everything that writes to the cluster. */
export type Leader = {
  /** Works until the signal is aborted; then nothing of it is under way any more. */
  lead(signal: AbortSignal): Promise<void>
  /** The copy of one kind changed; heard only while leading. */
  changed(key: string): void
  /** Governed pods came, went, or became ready. */
  podsChanged(): void
  depth(): number
}

export function createLeader(deps: LeaderDeps): Leader {
  const { caches, log } = deps
  /** Deletions have workers of their own: what hangs in a hand-over holds none of them up. */
  let queues: { readonly look: WorkQueue; readonly release: WorkQueue } | null = null

  const queueOf = (key: string) => (goingGateway(caches, key) === undefined ? queues?.look : queues?.release)

  function lookAtAll(): void {
    for (const kind of TIGHTENING_FIRST)
      for (const object of caches[kind].list()) enqueue(queueKey(kind, keyOf(object)))
  }

  async function lead(signal: AbortSignal): Promise<void> {
    deps.metrics.leading()
    const { pods, namespaces } = deps
    const synced = Promise.all([...KINDS.map((kind) => caches[kind].synced), pods.synced, namespaces.synced])
    if (!(await untilAborted(synced, signal))) return
    const term = createTerm(deps, signal, { enqueue, lookAtAll })
    // What gateways hold already must not look like news.
    await term.acknowledgements.look()
    queues = {
      look: createWorkQueue({ work: term.look, log, concurrency: CONCURRENCY }),
      release: createWorkQueue({ work: term.release, log, concurrency: CONCURRENCY }),
    }
    lookAtAll()
    await Promise.all([
      term.acknowledgements.follow(),
      term.secrets.follow(),
      term.reportNamespaces(),
      term.sweepAgain(),
    ])
    const ended = queues
    queues = null
    await Promise.all([ended.look.stop(), ended.release.stop()])
  }

  function enqueue(key: string, afterMs = 0): void {
    if (afterMs === 0) queueOf(key)?.add(key)
    else queueOf(key)?.addAfter(key, afterMs)
  }

  return {
    lead,
    changed: (key) => enqueue(key),
    podsChanged() {
      for (const gateway of caches.Gateway.list()) enqueue(queueKey('Gateway', keyOf(gateway)))
    },
    depth: () => (queues === null ? 0 : queues.look.depth() + queues.release.depth()),
  }
}

type Looking = { readonly enqueue: (key: string, afterMs?: number) => void; readonly lookAtAll: () => void }

const REFUSED: EventNote = {
  type: 'Warning',
  reason: 'SidecarRefused',
  action: 'Authenticate',
  note: 'The control plane refuses the sidecar of this pod: what the injector writes into metadata is missing or was changed. Create the pod again so that it is injected. The sidecar keeps trying.',
}

function podTarget({ podUid: uid, namespace, name }: PodRef): EventTarget {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid, resourceVersion: '' } }
}

/** Everything that lives as long as one term. */
function createTerm(deps: LeaderDeps, signal: AbortSignal, { enqueue, lookAtAll }: Looking) {
  const { desired, replicas, caches, pods, metrics, log, instance, namespace, timing = TIMING } = deps
  const client = boundTo(deps.client, signal)
  const handOver = createHandOver(desired, signal)
  const events = createEventRecorder({ client, log, instance, fallbackNamespace: namespace })
  const acknowledgements = createAcknowledgements({
    ...{ client: desired, replicas, signal, log, onChange: lookAtAll },
    onRefused(pods) {
      for (const pod of pods) void events.record(podTarget(pod), REFUSED)
    },
    pollMs: timing.stateMs,
  })
  const secrets = createSecrets({
    ...{ client, signal, log, pollMs: timing.secretsMs },
    named: () => secretsOf(caches),
    onChange: (secret) => connectorsOf(caches, secret).map((key) => enqueue(key)),
  })
  const finalizer = createFinalizer({
    client,
    onGivenUp: (gateway) => {
      log.warn({ gateway: keyOf(gateway) }, 'gateway deleted while the control plane was away')
    },
    patienceMs: timing.releaseMs,
  })
  const outages = createOutageLog({ log, message: 'control plane not swept, trying again' })
  const statuses = createStatusWriter({ client, onWrite: metrics.statusWritten })
  const controller = createController({
    ...{
      caches,
      pods,
      bypassing: deps.bypassing,
      floorRules: deps.floorRules,
      handOver,
      secrets,
      acknowledgements,
      statuses,
      finalizer,
      events,
      enqueue,
    },
  })

  async function counted(key: string, work: (key: string) => Promise<void>): Promise<void> {
    const { kind } = splitQueueKey(key)
    try {
      await work(key)
      metrics.reconciled(kind, 'ok')
    } catch (error) {
      // Its successor does it.
      if (signal.aborted) return
      metrics.reconciled(kind, 'failed')
      throw error
    }
  }

  return {
    acknowledgements,
    secrets,
    look: (key: string) => counted(key, controller.look),
    release: (key: string) => counted(key, controller.release),
    reportNamespaces: () =>
      reportNamespaceLabels({
        ...{ desired, namespaces: deps.namespaces, signal, log, compareMs: timing.stateMs },
        onChange() {
          handOver.forgetAll()
          lookAtAll()
        },
      }),
    async sweepAgain(): Promise<void> {
      while (!signal.aborted) {
        await sweep({ client, desired, caches, handOver, enqueue, signal, log }).then(
          () => outages.answered('control plane'),
          (error: unknown) => {
            if (!signal.aborted) outages.failed('control plane', error)
          },
        )
        await sleep(timing.sweepMs, signal)
      }
    },
  }
}

function secretsOf(caches: Caches): ReadonlySet<string> {
  return new Set(
    caches.Connector.list().flatMap(({ metadata, spec }) =>
      spec.credential === undefined ? [] : [`${metadata.namespace}/${spec.credential.secretRef.name}`],
    ),
  )
}

function connectorsOf(caches: Caches, secret: string): readonly string[] {
  return caches.Connector.list()
    .filter(({ metadata, spec }) => `${metadata.namespace}/${spec.credential?.secretRef.name}` === secret)
    .map((connector) => queueKey('Connector', keyOf(connector)))
}
