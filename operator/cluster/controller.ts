import { type FloorRules, floored } from '../../core/crd/floors.ts'
import { API_VERSION, type ResourceKind } from '../../core/crd/schemas.ts'
import type { PushReply } from '../../core/wire/operator.ts'
import type { Acknowledgements } from '../control/acknowledgements.ts'
import type { EventRecorder } from '../kube/events.ts'
import { keyOf } from '../kube/objects.ts'
import type { Reflector } from '../kube/reflector.ts'
import type { HandOver } from '../reconcile/push.ts'
import { desiredBody } from '../reconcile/push-body.ts'
import { planStatus } from '../status/plan-status.ts'
import type { StatusFacts } from '../status/status-facts.ts'
import type { StatusWriter } from '../status/status-writer.ts'
import { type Credential, resolveCredential } from './credentials.ts'
import { type Caches, type OurObject, queueKey, splitQueueKey } from './custom-resources.ts'
import type { Finalizer } from './finalizer.ts'
import { countPods, type GovernedPod } from './governed-pods.ts'
import type { Secrets } from './secrets.ts'
import { sharedAgents } from './shared-agents.ts'

export type ControllerDeps = {
  readonly caches: Caches
  readonly pods: Pick<Reflector<GovernedPod>, 'list'>
  /** Pods that should be governed and are not, by `namespace/name` of the Gateway. */
  readonly bypassing: () => ReadonlyMap<string, readonly string[]>
  readonly floorRules: FloorRules
  readonly handOver: HandOver
  readonly secrets: Pick<Secrets, 'read'>
  readonly acknowledgements: Pick<Acknowledgements, 'state' | 'staleMs'>
  readonly statuses: StatusWriter
  readonly finalizer: Finalizer
  readonly events: EventRecorder
  /** Looks at a key again, now or later. */
  readonly enqueue: (key: string, afterMs?: number) => void
}

/** While the control plane is away an object is looked at again so often; it is also when somebody answers again. */
const RETRY_MS = 5_000

export type Controller = {
  /** Everything but a Gateway that is being deleted. */
  look(key: string): Promise<void>
  /** A Gateway that is being deleted; a hand-over of it that hangs does not keep it. */
  release(key: string): Promise<void>
}

/**
 * One object: observe it, hand it over, write back what became of it. Looks only at how things are, never at what
 * happened; doing it again changes nothing.
 */
export function createController(deps: ControllerDeps): Controller {
  return {
    async look(key) {
      const { kind, namespace, name } = splitQueueKey(key)
      const object = deps.caches[kind].get(`${namespace}/${name}`) as OurObject | undefined
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return removed(deps, key)
      await present(deps, kind, object)
    },
    async release(key) {
      const gateway = goingGateway(deps.caches, key)
      if (gateway === undefined) return
      const againMs = await deps.finalizer.release(gateway, () => removed(deps, key))
      if (againMs !== null) deps.enqueue(key, againMs)
    },
  }
}

/** The Gateway of this key when it is being deleted. */
export function goingGateway(caches: Pick<Caches, 'Gateway'>, key: string): OurObject<'Gateway'> | undefined {
  const { kind, namespace, name } = splitQueueKey(key)
  const gateway = kind === 'Gateway' ? caches.Gateway.get(`${namespace}/${name}`) : undefined
  return gateway?.metadata.deletionTimestamp === undefined ? undefined : gateway
}

async function removed(deps: ControllerDeps, key: string): Promise<void> {
  await deps.handOver.remove(key)
  lookAtOthers(deps, key)
}

async function present(deps: ControllerDeps, kind: ResourceKind, object: OurObject): Promise<void> {
  const { handOver, statuses, enqueue } = deps
  const key = queueKey(kind, keyOf(object))
  if (kind === 'Gateway') await deps.finalizer.ensure(object as OurObject<'Gateway'>)
  const credential = kind === 'Connector' ? await credentialOf(deps, object as OurObject<'Connector'>) : null
  const told = await handOver.put(key, desiredBody(kind, object, credential))
  if (told.failure !== null) enqueue(key, RETRY_MS)
  if (told.isNew) lookAtOthers(deps, key)
  const status = statuses.current(kind, object)
  const shown = status === undefined ? object : { ...object, status }
  const facts = { ...told, credential, ...factsOf(deps, kind, object) }
  await statuses.write(kind, shown, planStatus(kind, shown, facts))
  if (told.isNew && told.reply?.accepted === false) await tellRefusal(deps, kind, object, told.reply.reasons)
}

async function tellRefusal(
  { events }: ControllerDeps,
  kind: ResourceKind,
  object: OurObject,
  reasons: readonly string[],
): Promise<void> {
  const target = { ...object, apiVersion: API_VERSION, kind }
  const note = reasons.join('; ')
  await events.record(target, { type: 'Warning', reason: 'Refused', action: 'Reconcile', note })
}

async function credentialOf(
  { secrets }: ControllerDeps,
  { spec, metadata: { namespace = '' } }: OurObject<'Connector'>,
): Promise<Credential> {
  const ref = spec.credential?.secretRef
  const reading = ref === undefined ? null : await secrets.read(`${namespace}/${ref.name}`)
  return resolveCredential(spec, namespace, reading)
}

function factsOf(
  { acknowledgements, pods, bypassing, floorRules }: ControllerDeps,
  kind: ResourceKind,
  object: OurObject,
): Omit<StatusFacts, 'reply' | 'failure' | 'credential'> {
  const key = keyOf(object)
  const isGateway = kind === 'Gateway'
  return {
    state: acknowledgements.state(),
    staleMs: acknowledgements.staleMs(),
    pods: isGateway ? (countPods(pods.list()).get(key) ?? null) : null,
    sharedAgents: isGateway ? (sharedAgents(pods.list()).get(key) ?? []) : [],
    bypassing: isGateway ? (bypassing().get(key) ?? []) : [],
    belowFloor: isGateway ? belowFloor(object as OurObject<'Gateway'>, floorRules) : [],
    now: `${new Date().toISOString().slice(0, 19)}Z`,
  }
}

function belowFloor({ spec, metadata: { namespace = '' } }: OurObject<'Gateway'>, rules: FloorRules) {
  return floored(spec, namespace, rules).below
}

/**
 * What names a Gateway, or takes all of its namespace, may be bound differently now; a refused Connector may have waited
 * for a host, and one of another namespace may have lost it. Only what the control plane was told already needs to be asked again.
 */
function lookAtOthers({ handOver, enqueue }: ControllerDeps, changed: string): void {
  const { kind } = splitQueueKey(changed)
  if (kind !== 'Gateway' && kind !== 'Connector') return
  const atGateways = handOver.held().get(changed)?.reply.gateways ?? []
  for (const [key, { reply }] of handOver.held()) {
    if (!concerns({ changed, gateways: atGateways }, key, reply)) continue
    handOver.forget(key)
    enqueue(key)
  }
}

type Cause = { readonly changed: string; readonly gateways: readonly string[] }

function concerns({ changed, gateways }: Cause, key: string, reply: PushReply): boolean {
  const cause = splitQueueKey(changed)
  const other = splitQueueKey(key)
  if (key === changed || other.kind === 'Gateway') return false
  if (cause.kind === 'Connector') {
    const isBeside =
      cause.namespace !== other.namespace && reply.gateways?.some((name) => gateways.includes(name))
    return other.kind === 'Connector' && (!reply.accepted || reply.problem !== null || isBeside === true)
  }
  const isBound = reply.gateways === null || reply.gateways.includes(`${cause.namespace}/${cause.name}`)
  return isBound || !reply.accepted || other.namespace === cause.namespace
}
