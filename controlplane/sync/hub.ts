import type { Logger } from 'pino'
import { LIMITS } from '../../core/wire/limits.ts'
import type { GatewayProcess } from '../../core/wire/operator.ts'
import { type DownMessage, PROTOCOL, type ResultBody } from '../../core/wire/gateway/sync.ts'
import { newId } from '../crypto/ids.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { SidecarPrincipal } from '../http/route.ts'
import { leaseMsOf } from '../features/gateways/lease.ts'
import { LOCAL_GATEWAY } from '../features/gateways/names.ts'
import { withdrawAllReplicas } from '../features/gateways/process-store.ts'
import type { ProcessWord } from './process-words-store.ts'
import type { Db } from '../db/query.ts'
import { type Census, createCensus, type ElsewhereProcess } from './census.ts'
import type { Clock } from './clock.ts'
import { createEpochRaiser } from './epoch-raiser.ts'
import { createFreshness } from './freshness.ts'
import { processesOf } from './gateway-processes.ts'
import { createKillCast, type KillCast } from './kill-switch/broadcast.ts'
import { createKillProof } from './kill-switch/proof.ts'
import type { SectionLibrary } from './sections/library.ts'
import { type GatewayLive, liveOf, type Sighting } from './live.ts'
import { createManifestCast, type ManifestCast } from './sections/broadcast.ts'
import { createOrderBook, type Order, type OrderBook } from './orders.ts'
import { createPeer, type Peer, type StreamSink } from './peer.ts'
import {
  createPodSessions,
  type PodPresence,
  type PodSessionTiming,
  type SessionOwner,
} from './pod-sessions.ts'
import { applyWord } from './reports.ts'
import { createRoster, type Roster } from './roster.ts'
import { createSharingCast, type SharingCast } from './sharing.ts'
import { createSteadyClock } from './steady-clock.ts'
import { createVerdictCast, type VerdictCast } from './verdict-cast.ts'
import { watchChanges } from './sections/watch.ts'
import { createWords } from './words.ts'

export type HubDeps = {
  readonly db: Db
  /** Of all replicas: signs announced stops. */
  readonly keyring: Pick<Keyring, 'derive'>
  readonly library: SectionLibrary
  readonly log: Logger
  readonly clock: Clock
  /** Absent: there are no pods. */
  readonly pods?: PodPresence | null
  readonly podTiming?: PodSessionTiming
  /** Between two beats of the streams. */
  readonly beatMs?: number
  /** No other process uses the database: replicas that it names have ended, and with them the local gateway. */
  readonly isOnlyReplica?: boolean
}

/** Who asks for a stream; `syncKey` is the key of the gateway's row. */
export type StreamOwner = Pick<Peer, 'gatewayId' | 'name' | 'processId' | 'syncKey'> & {
  /** The only agent that it serves, when it is the sidecar of a pod. */
  readonly agent?: string | null
  readonly sidecar?: SidecarPrincipal | null
}

/** Keeps one stream per gateway process supplied with what it must know, and knows what each acknowledged. */
export type Hub = AsyncDisposable & {
  /** Takes over a stream whose head was sent: hello, kill state and manifest go out at once. Call the result when it closed. */
  open(owner: StreamOwner, sink: StreamSink): () => void
  /** A call of a process: a session adopts its rotated token. */
  seen(owner: SessionOwner): void
  /** What a gateway process says of itself, whichever replica holds its stream. Rejects when it cannot be passed on. */
  say(word: ProcessWord): Promise<void>
  /** Null when no process of it is connected, to any replica. */
  liveOf(gatewayId: string): GatewayLive | null
  /** Ids of the gateways that have a stream, to any replica. */
  connected(): ReadonlySet<string>
  /** Whether the gateway has a stream here. */
  isHere(gatewayId: string): boolean
  /** Every gateway process that is connected, to any replica. */
  processes(): readonly GatewayProcess[]
  readonly kill: Omit<KillCast, 'greet' | 'ack' | 'look' | 'views' | 'resend'>
  /** Hands an order to one process that is connected here. Null when there is none; rejects with `upstream_timeout` after 30 s. */
  execute(gatewayId: string, order: Order): Promise<ResultBody> | null
  /** False for a result that is not waited for any more, or comes from a process that does not have the order. */
  settle(result: ResultBody, processId: string): boolean
  /** Orders that processes here have. */
  readonly orders: Pick<OrderBook, 'processOf' | 'waiting'>
}

/** Reads the state once, then watches the database. Rejects when it cannot be read. */
export async function createHub(deps: HubDeps): Promise<Hub> {
  const { db, keyring, library, log, clock, pods = null, podTiming, beatMs = LIMITS.beatMs } = deps
  const roster = createRoster()
  const orders = createOrderBook()
  const census: Census = createCensus({
    ...{ db, roster, clock, replicaId: newId('process') },
    leaseMs: (id) => leaseMsOf(library.configuration?.gateways.get(id)?.spec),
    onLooked: () => {
      kill.look()
      sharing.look()
    },
    onFailed: (error) => log.error({ err: error }, 'gateway processes could not be told or read'),
  })
  const raiseEpoch = createEpochRaiser(db, clock)
  const base = { db, roster, library, log, freshness: createFreshness(clock), raiseEpoch }
  const steady = createSteadyClock(clock)
  const kill = createKillCast({ ...base, census, clock, proof: createKillProof(keyring) })
  const sharing: SharingCast = createSharingCast({ roster, census })
  const manifests = createManifestCast({ ...base, clock: steady, onReloaded: kill.resend })
  const verdicts = createVerdictCast({ db, roster })
  const words = createWords({
    ...{ db, roster },
    apply: (peer, word) => applyWord(peer, word, { kill, manifests, census, clock, log }),
    onFailed: (error) => log.error({ err: error }, 'words of gateway processes could not be taken'),
  })
  const sessions = createPodSessions({
    ...{ roster, clock, log, pods: pods ?? NO_PODS },
    ...(podTiming === undefined ? {} : { timing: podTiming }),
  })
  await manifests.refresh()
  await kill.refresh()
  if (deps.isOnlyReplica === true) await withdrawAllReplicas(db, LOCAL_GATEWAY)
  await census.refresh()
  const watch = await watchChanges({
    db,
    log,
    refreshConfiguration: manifests.refresh,
    refreshKill: kill.refresh,
    refreshVerdicts: verdicts.refresh,
    refreshProcesses: census.refresh,
    refreshWords: words.refresh,
    refreshPods: sessions.refresh,
    heardWord: words.heard,
  })
  const beats = setInterval(manifests.beat, beatMs)

  return {
    open: (owner, sink) =>
      connect({ roster, kill, census, sharing, manifests, verdicts, clock, steady, log }, owner, sink),
    seen: sessions.seen,
    say: words.say,
    liveOf: (gatewayId) => liveOf(sightingsOf(gatewayId, { roster, census }), kill.effective()),
    connected: () =>
      new Set([...roster.peers.values(), ...census.elsewhere()].map((process) => process.gatewayId)),
    isHere: (gatewayId) => roster.of(gatewayId).length > 0,
    processes: () => processesOf({ roster, census, library, views: kill.views() }),
    kill,
    execute: (gatewayId, order) => handOver(whoServes(roster.of(gatewayId), order), orders, order),
    settle: orders.settle,
    orders,
    async [Symbol.asyncDispose]() {
      clearInterval(beats)
      sessions[Symbol.dispose]()
      await watch[Symbol.asyncDispose]()
      await census[Symbol.asyncDispose]()
      orders.close()
      sendAway(roster)
    },
  }
}

const NO_PODS: PodPresence = { ended: async () => () => null }

type Casts = Pick<HubDeps, 'clock' | 'log'> & {
  /** Of the greeting and the beats. */
  readonly steady: Clock
  readonly roster: Roster
  readonly kill: KillCast
  readonly census: Census
  readonly sharing: SharingCast
  readonly manifests: ManifestCast
  readonly verdicts: VerdictCast
}

/** Tells a process that has come everything it must know; the result is to be called when it has gone. */
function connect(casts: Casts, owner: StreamOwner, sink: StreamSink): () => void {
  const { roster, kill, census, sharing, manifests, verdicts, clock, steady, log } = casts
  const place = { gateway: owner.name, process: owner.processId }
  const onSlow = () => log.warn(place, 'slow gateway stream cut')
  const { sidecar = null } = owner
  const pod = sidecar === null ? null : { sidecar, reviewedAtMs: clock.monotonicMs() - sidecar.reviewAgeMs }
  const peer = createPeer({ ...owner, pod, sink, onSlow, nowMs: clock.nowMs() })
  roster.add(peer)?.end()
  peer.send(hello(peer, steady))
  kill.greet(peer)
  census.arrived(peer)
  sharing.look()
  const failed = (error: unknown) =>
    log.error({ ...place, err: error }, 'gateway could not be told everything')
  manifests.greet(peer).catch(failed)
  verdicts.greet(peer).catch(failed)
  log.info(place, 'gateway connected')
  return () => {
    if (roster.remove(peer)) {
      census.left(peer)
      sharing.look()
    }
    log.info(place, 'gateway disconnected')
  }
}

/** A sidecar knows its own agent alone. */
function whoServes(peers: readonly Peer[], { agent }: Order): Peer | undefined {
  return peers.findLast((peer) => peer.agent === null || peer.agent === agent)
}

function handOver(peer: Peer | undefined, orders: OrderBook, order: Order): Promise<ResultBody> | null {
  if (peer === undefined) return null
  const result = orders.wait(order.order_id, peer.processId)
  peer.send({ type: 'execute', ...order })
  return result
}

function sendAway({ peers }: Roster): void {
  for (const peer of peers.values()) {
    peer.send({ type: 'goaway', after_ms: 0 })
    peer.end()
  }
}

/** All running processes of a gateway. */
function sightingsOf(
  gatewayId: string,
  { roster, census }: { readonly roster: Roster; readonly census: Census },
): readonly Sighting[] {
  const others = census.elsewhere().filter((process) => process.gatewayId === gatewayId)
  return [...roster.of(gatewayId), ...others.map(sightingOf)]
}

function sightingOf({ facts, lastSeenMs }: ElsewhereProcess): Sighting {
  const { name, applied_version, sent_version, agents, uptime_seconds, warnings = [] } = facts
  return {
    ...{ name, agents, lastSeenMs, warnings },
    appliedVersion: applied_version,
    sentVersion: sent_version,
    uptimeSeconds: Math.floor(uptime_seconds),
  }
}

function hello(peer: Peer, clock: Clock): DownMessage {
  const gateway = { id: peer.gatewayId, name: peer.name }
  const at = new Date(clock.nowMs()).toISOString()
  return { type: 'hello', protocol: PROTOCOL, gateway, lease_ms: LIMITS.leaseHighRiskMs, at }
}
