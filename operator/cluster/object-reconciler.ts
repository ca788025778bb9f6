import { type FloorRules, floored } from '../../core/crd/gateway/floors.ts'
import { API_VERSION, type ResourceKind } from '../../core/crd/schemas.ts'
import type { Acknowledgements } from '../control/acknowledgements.ts'
import type { Bypassing } from '../guard/watchdog.ts'
import type { EventRecorder } from '../kube/events.ts'
import { keyOf } from '../kube/objects.ts'
import type { WorkQueue } from '../kube/queue.ts'
import type { Push, PushResult } from '../reconcile/push.ts'
import type { PushedObjects } from '../reconcile/pushed-objects.ts'
import { createReconciler, type ReconcilerDeps } from '../reconcile/reconciler.ts'
import { planStatus } from '../status/plan-status.ts'
import type { GatewayFacts, StatusFacts } from '../status/status-facts.ts'
import type { StatusWriter } from '../status/status-writer.ts'
import { type Credential, resolveCredential } from './credentials.ts'
import { type CustomResource, type InformerCaches, splitQueueKey } from './custom-resources.ts'
import { enqueueDependents } from './dependents.ts'
import type { Disconnections } from './disconnections.ts'
import { objectBody } from './object-body.ts'
import type { PodIndex } from './pods/pod-index.ts'
import type { ConnectorSecrets } from './secrets.ts'

export type ObjectReconcilerDeps = Pick<
  ReconcilerDeps<Observed, PushResult | null>,
  'onResult' | 'signal' | 'queue'
> & {
  readonly caches: InformerCaches
  readonly podIndex: Pick<PodIndex, 'factsOf' | 'dueMs' | 'unready'>
  readonly disconnections: Disconnections
  /**
   * Returns the pods (`namespace/name`) that bypass or can bypass their gateway. The key is `namespace/name` of the
   * Gateway.
   */
  readonly bypassing: () => Bypassing
  /** Reports whether a NetworkPolicy isolates the pods with `interception: proxyEnv` of the namespace. */
  readonly isIsolated: (namespace: string) => boolean
  readonly floorRules: FloorRules
  readonly push: Push
  readonly pushed: PushedObjects
  readonly secrets: Pick<ConnectorSecrets, 'read'>
  readonly acknowledgements: Pick<Acknowledgements, 'of' | 'credentialError' | 'dueMs' | 'isStale'>
  readonly statuses: StatusWriter
  readonly events: EventRecorder
  readonly enqueue: (key: string, afterMs?: number) => void
}

/** Delay in milliseconds before an object is reconciled again after its push failed. */
const RETRY_MS = 5_000

type Present = {
  readonly key: string
  readonly kind: ResourceKind
  readonly object: CustomResource
  readonly credential: Credential | null
}
type Observed = Present | { readonly key: string; readonly object: null }

/**
 * Creates the work queue that reconciles all objects. An object that is being deleted is removed from the control plane
 * at once, before its finalizers have run.
 */
export function createObjectReconciler(deps: ObjectReconcilerDeps): WorkQueue {
  const { push, onResult, signal, queue } = deps
  return createReconciler<Observed, PushResult | null>({
    ...(onResult === undefined ? {} : { onResult }),
    signal,
    queue,
    observe: (key) => observe(deps, key),
    async push(observed) {
      if (observed.object === null) {
        await push.remove(observed.key)
        return null
      }
      const { key, kind, object, credential } = observed
      return push.put(key, objectBody(kind, object, credential))
    },
    async report(observed, result) {
      if (observed.object !== null && result !== null) return report(deps, observed, result)
      const { kind, namespace, name } = splitQueueKey(observed.key)
      deps.statuses.discard(kind, `${namespace}/${name}`)
      enqueueDependents(deps, observed.key)
    },
  })
}

async function observe(deps: ObjectReconcilerDeps, key: string): Promise<Observed> {
  const { kind, namespace, name } = splitQueueKey(key)
  const object = deps.caches[kind].get(`${namespace}/${name}`) as CustomResource | undefined
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return { key, object: null }
  const credential =
    kind === 'Connector' ? await credentialOf(deps, object as CustomResource<'Connector'>) : null
  return { key, kind, object, credential }
}

async function credentialOf(
  { secrets }: ObjectReconcilerDeps,
  { spec, metadata: { namespace = '' } }: CustomResource<'Connector'>,
): Promise<Credential> {
  const ref = spec.credential?.secretRef
  const reading = ref === undefined ? null : await secrets.read(`${namespace}/${ref.name}`)
  return resolveCredential(spec, namespace, reading)
}

async function report(
  deps: ObjectReconcilerDeps,
  { key, kind, object, credential }: Present,
  result: PushResult,
): Promise<void> {
  const { statuses, enqueue, events } = deps
  if (result.failure !== null) enqueue(key, RETRY_MS)
  if (result.isNew) enqueueDependents(deps, key)
  const status = statuses.current(kind, object)
  const shown = status === undefined ? object : { ...object, status }
  const facts = { ...result, credential, ...factsOf(deps, kind, object) }
  recordCaptureFailures(deps, facts.gateway)
  const laterMs = await statuses.write(kind, shown, planStatus(kind, shown, facts))
  for (const ms of [laterMs, ...(kind === 'Gateway' ? dueMs(deps, keyOf(object)) : [])])
    if (ms !== null) enqueue(key, ms)
  if (!result.isNew || result.reply?.accepted !== false) return
  const note = result.reply.reasons.join('; ')
  const target = { ...object, apiVersion: API_VERSION, kind }
  await events.record(target, { type: 'Warning', reason: 'Refused', action: 'Reconcile', note })
}

/** Records an Event on each pod whose traffic cannot be captured, in the background. */
function recordCaptureFailures({ events }: ObjectReconcilerDeps, gateway: GatewayFacts | null): void {
  for (const { metadata, reason } of gateway?.pods.captureFailures ?? [])
    void events.record(
      { apiVersion: 'v1', kind: 'Pod', metadata },
      {
        type: 'Warning',
        reason: 'CaptureFailed',
        action: 'Capture',
        note: `The agent of this pod does not start, because its traffic cannot be captured: ${reason}`,
      },
    )
}

/**
 * Returns three delays in milliseconds: until the next sidecar counts as not ready, until a disconnected sidecar is
 * checked again, and until the next gateway process counts as lagging. A delay is null if there is no such sidecar or
 * process.
 */
function dueMs({ podIndex, disconnections, acknowledgements }: ObjectReconcilerDeps, gateway: string) {
  return [podIndex.dueMs(gateway), disconnections.dueMs(gateway), acknowledgements.dueMs(gateway)]
}

function factsOf(
  deps: ObjectReconcilerDeps,
  kind: ResourceKind,
  object: CustomResource,
): Pick<StatusFacts, 'isStale' | 'undeclared' | 'gateway' | 'credentialError' | 'now'> {
  return {
    credentialError: kind === 'Connector' ? deps.acknowledgements.credentialError(keyOf(object)) : null,
    isStale: deps.acknowledgements.isStale(),
    undeclared: deps.statuses.undeclared(kind),
    gateway: kind === 'Gateway' ? gatewayFacts(deps, object as CustomResource<'Gateway'>) : null,
    now: `${new Date().toISOString().slice(0, 19)}Z`,
  }
}

function gatewayFacts(
  { acknowledgements, podIndex, disconnections, bypassing, isIsolated, floorRules }: ObjectReconcilerDeps,
  gateway: CustomResource<'Gateway'>,
): GatewayFacts {
  const key = keyOf(gateway)
  const state = acknowledgements.of(key)
  const pods = podIndex.factsOf(key)
  return {
    state,
    pods,
    notIsolatedIn: pods.isolatedIn.filter((namespace) => !isIsolated(namespace)),
    disconnected: disconnections.of(key, {
      unready: podIndex.unready(key),
      processes: state?.processes ?? null,
      isStale: acknowledgements.isStale(),
    }),
    bypassing: bypassing().get(key) ?? [],
    belowFloor: belowFloor(gateway, floorRules),
  }
}

function belowFloor({ spec, metadata: { namespace = '' } }: CustomResource<'Gateway'>, rules: FloorRules) {
  return floored(spec, namespace, rules).below
}
