import type { Logger } from 'pino'
import type { Clock } from '../../core/state/clock.ts'
import type { Greeting } from '../../core/wire/gateway/greeting.ts'
import { PROTOCOL } from '../../core/wire/gateway/sections/field-additions.ts'
import type { DownMessage, ResultBody } from '../../core/wire/gateway/sync.ts'
import type { GatewayLive } from '../../core/wire/gateways.ts'
import type { GatewayProcess } from '../../core/wire/operator/operator.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import { newId } from '../crypto/ids.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Db } from '../db/query.ts'
import { LOCAL_GATEWAY } from '../features/gateways/names.ts'
import { leaseMsOf } from '../features/gateways/rows.ts'
import type { ProcessWork } from '../features/kill-switch/hosted-work.ts'
import type { SidecarPrincipal } from '../http/route.ts'
import { VERSION } from '../version.ts'
import { createEpochRaiser } from './epoch-raiser.ts'
import { createFreshness } from './freshness.ts'
import { GreetingAdmission } from './greeting-admission.ts'
import { createKillBroadcaster, type KillBroadcaster } from './kill-switch/broadcaster.ts'
import { createKillProof } from './kill-switch/proof.ts'
import { type Order, OrderBook } from './orders/orders.ts'
import { createPeer, type Peer, type StreamSink } from './peer.ts'
import { createPeerRegistry, type PeerRegistry, peerServing } from './peer-registry.ts'
import {
  createPodSessions,
  type PodPresence,
  type PodSessions,
  type PodSessionTiming,
  type SessionOwner,
} from './pod-sessions.ts'
import { liveOf, sightingsOf } from './processes/gateway-live.ts'
import { hostedWorkOf, processesOf } from './processes/gateway-processes.ts'
import { ProcessRegistry } from './processes/registry.ts'
import { withdrawAllReplicas } from './processes/store.ts'
import { createReplicaMailbox } from './replica-mailbox.ts'
import type { ProcessMessage } from './replica-mailbox-store.ts'
import { applyMessage } from './reports.ts'
import { createSectionBroadcaster, type SectionBroadcaster } from './sections/broadcaster.ts'
import type { SectionLibrary } from './sections/library.ts'
import { watchChanges } from './sections/watch.ts'
import { createSharedAgentsBroadcaster, type SharedAgentsBroadcaster } from './shared-agents-broadcaster.ts'
import { StateChanges } from './state-changes.ts'
import { createSteadyClock } from './steady-clock.ts'
import { createVerdictBroadcaster, type VerdictBroadcaster } from './verdict-broadcaster.ts'

export type HubDeps = {
  readonly db: Db
  /**
   * Keyring with the master key that all replicas share. The hub derives the key that signs announced kill switches.
   */
  readonly keyring: Pick<Keyring, 'derive'>
  readonly library: SectionLibrary
  readonly log: Logger
  readonly clock: Clock
  /** Returns the state of pods with a sidecar. Null or absent outside a Kubernetes cluster. */
  readonly pods?: PodPresence | null
  readonly podTiming?: PodSessionTiming
  /** Milliseconds between two heartbeats. A heartbeat is the message that extends the lease of a gateway. */
  readonly beatMs?: number
  /**
   * True when no other process uses the database. The replicas that the database lists and the processes of the local
   * gateway have then ended. The hub removes these replicas and marks these processes as disconnected.
   */
  readonly isOnlyReplica?: boolean
  /** Streams that are admitted per second. Absent: the default of `GreetingAdmission`. */
  readonly greetingsPerSecond?: number
}

/**
 * Identity of the process that opened a stream. `syncKey`: key that signs the messages to the process (see
 * `syncKeyOf`).
 */
export type StreamOwner = Pick<Peer, 'gatewayId' | 'name' | 'processId' | 'syncKey'> & {
  /** Name of the only agent that a sidecar serves; null for a gateway process. */
  readonly agent?: string | null
  readonly sidecar?: SidecarPrincipal | null
  /** Protocol and version of the process. Absent when the process sent neither. */
  readonly greeting?: Greeting
}

/**
 * Holds one stream for each gateway process, and sends the state of the control plane on each stream. Tracks the
 * acknowledgements of processes.
 */
export type Hub = AsyncDisposable & {
  /** Bounds the rate of new streams. */
  readonly admission: Omit<GreetingAdmission, typeof Symbol.dispose>
  /**
   * Adds a stream after the head of its response was sent. Sends the messages hello, kill state and section index. The
   * returned function must be called when the stream closes.
   */
  open(owner: StreamOwner, sink: StreamSink): () => void
  /** Must be called for each call of a sidecar, so that the session adopts a rotated token of the sidecar. */
  seen(owner: SessionOwner): void
  /**
   * Delivers a message of a process to the replica that holds the stream of the process. Rejects when the message
   * cannot be published.
   */
  publish(message: ProcessMessage): Promise<void>
  /** Returns the live state of a gateway; null when no process of the gateway is connected to any replica. */
  liveOf(gatewayId: string): GatewayLive | null
  /** Returns the ids of the gateways that have a stream to any replica. */
  connected(): ReadonlySet<string>
  /** Returns whether the gateway has a stream to this replica. */
  isHere(gatewayId: string): boolean
  /** Lists every gateway process that is connected to any replica. */
  processes(): readonly GatewayProcess[]
  /** Reports changes of processes, acknowledgements and kill switches at any replica, within 2 s. */
  readonly changes: Omit<StateChanges, 'notify' | 'close'>
  /** Lists the hosted work that connected processes cancel at providers. */
  hostedWork(): readonly ProcessWork[]
  readonly kill: Omit<KillBroadcaster, 'greet' | 'ack' | 'countAcks' | 'views' | 'resend'>
  /**
   * Sends an execution order to one process of the gateway that is connected to this replica. Returns null when no
   * process here can execute the order (see `peerServing`). Rejects with `upstream_timeout` after 30 s.
   */
  execute(gatewayId: string, order: Order): Promise<ResultBody> | null
  /**
   * Settles a pending execution order with its result. Returns false when the order is not pending, or another process
   * has the order.
   */
  settle(result: ResultBody, processId: string): boolean
  /** Execution orders in flight at processes that are connected to this replica. */
  readonly orders: Pick<OrderBook, 'processOf' | 'waiting'>
}

/** Creates the hub. Reads the state once and then watches the database. Rejects when the state cannot be read. */
export async function createHub(deps: HubDeps): Promise<Hub> {
  const { db, keyring, library, log, clock, pods = null, podTiming, beatMs = LIMITS.beatMs } = deps
  const peerRegistry = createPeerRegistry()
  const orders = new OrderBook()
  const changes = new StateChanges()
  const processRegistry: ProcessRegistry = new ProcessRegistry({
    db,
    peerRegistry,
    clock,
    replicaId: newId('process'),
    leaseMs: (id) => leaseMsOf(library.configuration?.gateways.get(id)?.spec),
    onRead: () => {
      kill.countAcks()
      sharedAgents.broadcast()
      changes.notify()
    },
    onFailed: (err) => log.error({ err }, 'gateway processes are not shared with other replicas; retrying'),
  })
  const freshness = createFreshness(clock)
  const raiseEpoch = createEpochRaiser(db, clock)
  const base = { db, peerRegistry, library, log, freshness, raiseEpoch }
  const steady = createSteadyClock(clock)
  const kill = createKillBroadcaster({ ...base, processRegistry, clock, proof: createKillProof(keyring) })
  const registries = { peerRegistry, processRegistry }
  const sharedAgents: SharedAgentsBroadcaster = createSharedAgentsBroadcaster({ ...registries, clock })
  const sections = createSectionBroadcaster({ ...base, clock: steady, onReloaded: kill.resend })
  const verdicts = createVerdictBroadcaster({
    db,
    peerRegistry,
    clock,
    onFailed: (error) => log.error({ err: error }, 'answers to approvals could not be read; retrying'),
  })
  const mailbox = createReplicaMailbox({
    db,
    peerRegistry,
    apply: (peer, message) => applyMessage(peer, message, { kill, sections, processRegistry, clock, log }),
    onFailed: (err) => log.error({ err }, 'gateway reports at other replicas could not be read; retrying'),
  })
  const sessions = createPodSessions({
    peerRegistry,
    clock,
    log,
    pods: pods ?? NO_PODS,
    ...(podTiming === undefined ? {} : { timing: podTiming }),
  })
  await sections.refresh()
  await kill.refresh()
  if (deps.isOnlyReplica === true) await withdrawAllReplicas(db, LOCAL_GATEWAY)
  await processRegistry.refresh()
  const watch = await watchChanges({
    db,
    log,
    refreshConfiguration: sections.refresh,
    refreshKill: kill.refresh,
    refreshVerdicts: verdicts.refresh,
    refreshProcesses: processRegistry.refresh,
    onProcesses: () => processRegistry.changed(),
    onVerdict: verdicts.changed,
    refreshMailbox: mailbox.refresh,
    refreshPods: sessions.refresh,
    onMailbox: mailbox.receive,
  })
  const beats = setInterval(sections.beat, beatMs)
  const admission = createAdmission(deps)
  const streams = { ...registries, kill, sharedAgents, sections, verdicts, sessions, clock, steady, log }

  return {
    admission,
    open: (owner, sink) => connect(streams, owner, sink),
    seen: sessions.seen,
    publish: mailbox.publish,
    liveOf: (gatewayId) => liveOf(sightingsOf(gatewayId, registries), kill.effective()),
    connected: () =>
      new Set([...peerRegistry.gateways(), ...processRegistry.elsewhere().map(({ gatewayId }) => gatewayId)]),
    isHere: (gatewayId) => peerRegistry.of(gatewayId).length > 0,
    processes: () => processesOf({ ...registries, library, views: kill.views() }),
    changes,
    hostedWork: () => hostedWorkOf(registries),
    kill,
    execute: (gatewayId, order) =>
      sendOrder(peerServing(peerRegistry.of(gatewayId), order, library), orders, order),
    settle: (result, processId) => orders.settle(result, processId),
    orders,
    async [Symbol.asyncDispose]() {
      changes.close()
      clearInterval(beats)
      admission[Symbol.dispose]()
      sessions[Symbol.dispose]()
      await watch[Symbol.asyncDispose]()
      sharedAgents[Symbol.dispose]()
      verdicts[Symbol.dispose]()
      await processRegistry[Symbol.asyncDispose]()
      orders.close()
      endAll(peerRegistry)
    },
  }
}

function createAdmission({ clock, log, greetingsPerSecond: perSecond }: HubDeps): GreetingAdmission {
  return new GreetingAdmission({
    clock,
    random: Math.random,
    onStorm: () => log.warn('many gateways connect at once; those above the limit retry shortly'),
    ...(perSecond === undefined ? {} : { perSecond }),
  })
}

const NO_PODS: PodPresence = { ended: async () => () => null, instances: async () => new Map() }

type ConnectDeps = Pick<HubDeps, 'clock' | 'log'> & {
  /** Clock for the times in first messages and heartbeats of a stream. Its time never goes backwards. */
  readonly steady: Clock
  readonly peerRegistry: PeerRegistry
  readonly kill: KillBroadcaster
  readonly processRegistry: ProcessRegistry
  readonly sharedAgents: SharedAgentsBroadcaster
  readonly sections: SectionBroadcaster
  readonly verdicts: VerdictBroadcaster
  readonly sessions: Pick<PodSessions, 'greet'>
}

/**
 * Sends the whole state to a process that has connected. The returned function must be called when the process
 * disconnects.
 */
function connect(deps: ConnectDeps, owner: StreamOwner, sink: StreamSink): () => void {
  const { peerRegistry, kill, processRegistry, sharedAgents, sections, verdicts, clock, steady, log } = deps
  const place = { gateway: owner.name, process: owner.processId }
  const onSlow = () => log.warn(place, 'slow gateway stream closed')
  const { sidecar = null } = owner
  const pod = sidecar === null ? null : { sidecar, reviewedAtMs: clock.monotonicMs() - sidecar.reviewAgeMs }
  const peer = createPeer({ ...owner, pod, sink, onSlow, nowMs: clock.nowMs() })
  peerRegistry.add(peer)?.end()
  peer.send(hello(peer, steady))
  kill.greet(peer)
  processRegistry.arrived(peer)
  sharedAgents.broadcast()
  const failed = (error: unknown) =>
    log.error({ ...place, err: error }, 'rules or approvals were not sent; the gateway keeps its last state')
  sections.greet(peer).catch(failed)
  verdicts.greet(peer).catch(failed)
  deps.sessions.greet(peer).catch(failed)
  log.info({ ...place, ...peer.greeting }, 'gateway connected')
  return () => {
    if (peerRegistry.remove(peer)) {
      processRegistry.left(peer)
      sharedAgents.broadcast()
    }
    log.info(place, 'gateway disconnected')
  }
}

function sendOrder(peer: Peer | undefined, orders: OrderBook, order: Order): Promise<ResultBody> | null {
  if (peer === undefined) return null
  const result = orders.wait(order.order_id, peer.processId)
  peer.send({ type: 'execute', ...order })
  return result
}

function endAll({ peers }: PeerRegistry): void {
  for (const peer of peers.values()) {
    peer.send({ type: 'goaway', after_ms: 0 })
    peer.end()
  }
}

function hello(peer: Peer, clock: Clock): DownMessage {
  const gateway = { id: peer.gatewayId, name: peer.name }
  const at = new Date(clock.nowMs()).toISOString()
  const spoken = { protocol: PROTOCOL, version: VERSION }
  return { type: 'hello', ...spoken, gateway, lease_ms: LIMITS.leaseHighRiskMs, at }
}
