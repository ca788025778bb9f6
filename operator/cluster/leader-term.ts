import { API_VERSION } from '../../core/crd/schemas.ts'
import type { PodRef } from '../../core/wire/operator/pods.ts'
import { type Acknowledgements, createAcknowledgements } from '../control/acknowledgements.ts'
import { boundTo } from '../kube/bound-client.ts'
import { createEventRecorder, type EventNote, type EventRecorder, type EventTarget } from '../kube/events.ts'
import type { WorkQueue } from '../kube/queue.ts'
import { createPush } from '../reconcile/push.ts'
import { createPushedObjects } from '../reconcile/pushed-objects.ts'
import { createStatusWriter } from '../status/status-writer.ts'
import { type CustomResource, queueKey, splitQueueKey } from './custom-resources.ts'
import { createDisconnections, type Disconnections } from './disconnections.ts'
import { followGrants } from './grant-objects.ts'
import type { LeaderDeps, LeaderTiming } from './leader.ts'
import { reportNamespaceLabels } from './namespace-labels.ts'
import { createObjectReconciler } from './object-reconciler.ts'
import { type ConnectorSecrets, createConnectorSecrets } from './secrets.ts'
import { repeatSweep } from './sweep.ts'

export type Enqueuer = {
  readonly enqueue: (key: string, afterMs?: number) => void
  readonly enqueueAll: () => void
  readonly gatewaysChanged: (gateways: ReadonlySet<string> | null) => void
}

/** The state and the queue of one leader term, that is, the time for which a replica holds the Lease. */
export type Term = {
  readonly queue: WorkQueue
  readonly acknowledgements: Acknowledgements
  readonly secrets: Pick<ConnectorSecrets, 'counts'>
  /** Runs the periodic work of the term (polls, sweeps, reports) until the signal of the term is aborted. */
  follow(): Promise<void>
}

const TIMING: LeaderTiming = {
  sweepMs: 60_000,
  secretsMs: 3_000,
  stateMs: 1_000,
  countsMs: 10_000,
  grantsMs: 5_000,
}
/**
 * Number of objects that are reconciled at a time, which bounds the objects of one change set. Status writes have a
 * lower limit of their own.
 */
const CONCURRENCY = 256

export function createTerm(deps: LeaderDeps, signal: AbortSignal, enqueuer: Enqueuer): Term {
  const { enqueue, enqueueAll } = enqueuer
  const { controlPlane, caches, metrics, log, timing = TIMING } = deps
  const client = boundTo(deps.client, signal)
  const pushed = createPushedObjects()
  const events = createEventRecorder({ client, log, instance: deps.instance })
  const reporting = { ...enqueuer, events, signal }
  const acknowledgements = acknowledgementsOf(deps, reporting)
  const secrets = secretsOf(deps, reporting)
  const disconnections = disconnectionsOf(deps, reporting)
  const reconciling = {
    caches,
    disconnections,
    pushed,
    secrets,
    acknowledgements,
    events,
    enqueue,
    signal,
    podIndex: deps.podIndex,
    bypassing: deps.bypassing,
    isIsolated: deps.isIsolated,
    floorRules: deps.floorRules,
    push: createPush(controlPlane, pushed, signal),
    statuses: createStatusWriter({
      client,
      log,
      onWrite: metrics.statusWritten,
      countsMs: timing.countsMs,
      onUndeclared: enqueueAll,
    }),
    onResult: (key: string, result: 'ok' | 'failed') => metrics.reconciled(splitQueueKey(key).kind, result),
    queue: { log, concurrency: CONCURRENCY },
  }
  const onRebound = () => {
    pushed.invalidateAll()
    enqueueAll()
  }
  return {
    queue: createObjectReconciler(reconciling),
    acknowledgements,
    secrets,
    async follow() {
      const { namespaces } = deps
      const compareMs = timing.stateMs
      await Promise.all([
        acknowledgements.follow(),
        secrets.follow(),
        reportNamespaceLabels({ controlPlane, namespaces, signal, log, onRebound, compareMs }),
        followGrants({ client, controlPlane, permissions: caches.Permission, signal, log }, timing.grantsMs),
        repeatSweep({ client, controlPlane, caches, pushed, enqueue, signal, log }, timing.sweepMs),
      ])
    },
  }
}

/** Queue and Events of a term, to which its components report until the signal of the term is aborted. */
type Reporting = Enqueuer & { readonly events: EventRecorder; readonly signal: AbortSignal }

function acknowledgementsOf(
  { controlPlane, replicas, caches, log, timing = TIMING }: LeaderDeps,
  { enqueue, enqueueAll, gatewaysChanged, events, signal }: Reporting,
): Acknowledgements {
  return createAcknowledgements({
    client: controlPlane,
    replicas,
    signal,
    log,
    onGateways: gatewaysChanged,
    onCredentials: connectorsChanged(caches, enqueue),
    onStale: enqueueAll,
    onRefused(refused) {
      for (const pod of refused) void events.record(podTarget(pod), REFUSED)
    },
    pauseMs: timing.stateMs,
  })
}

/** Returns a function that enqueues the given Connectors (`namespace/name`), except those that do not exist. */
function connectorsChanged(
  caches: LeaderDeps['caches'],
  enqueue: Enqueuer['enqueue'],
): (connectors: ReadonlySet<string>) => void {
  return (connectors) => {
    for (const name of connectors)
      if (caches.Connector.get(name) !== undefined) enqueue(queueKey('Connector', name))
  }
}

function secretsOf(
  { client, caches, log, timing = TIMING }: LeaderDeps,
  { enqueue, events, signal }: Reporting,
): ConnectorSecrets {
  return createConnectorSecrets({
    client,
    caches,
    enqueue,
    signal,
    log,
    pollMs: timing.secretsMs,
    onForbidden: (connector) =>
      void events.record(
        { ...connector, apiVersion: API_VERSION, kind: 'Connector' },
        forbiddenSecret(connector),
      ),
  })
}

function disconnectionsOf(
  { diagnose, log }: LeaderDeps,
  { gatewaysChanged, events, signal }: Reporting,
): Disconnections {
  return createDisconnections({
    events,
    diagnose: (pod) => diagnose(pod, signal),
    onDiagnosed: (gateway) => gatewaysChanged(new Set([gateway])),
    onFailure(error) {
      if (!signal.aborted)
        log.warn(
          { err: error },
          'NetworkPolicies could not be read, so the cause of a lost connection of a sidecar stays unknown; trying again with the next check',
        )
    },
  })
}

const REFUSED: EventNote = {
  type: 'Warning',
  reason: 'SidecarRefused',
  action: 'Authenticate',
  note: 'The control plane refuses the sidecar of this pod: the metadata that the injector writes is missing or was changed. Create the pod again so that it is injected. The sidecar keeps trying.',
}

function forbiddenSecret({ spec, metadata: { namespace } }: CustomResource<'Connector'>): EventNote {
  const name = spec.credential?.secretRef?.name ?? ''
  return {
    type: 'Warning',
    reason: 'SecretForbidden',
    action: 'Watch',
    note: `The operator has no right to watch Secret ${namespace}/${name}, so a changed credential takes effect late or not at all. Bind its ServiceAccount to the ClusterRole chaperone-secret-reader with a RoleBinding in namespace ${namespace}.`,
  }
}

function podTarget({ podUid: uid, namespace, name }: PodRef): EventTarget {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, uid, resourceVersion: '' } }
}
