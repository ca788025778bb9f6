import type { Logger } from 'pino'
import type { Clock } from '../../../core/state/clock.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import type { Db } from '../../db/query.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'
import type { Freshness } from '../freshness.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import type { ProcessRegistry } from '../processes/registry.ts'
import type { SectionLibrary } from '../sections/library.ts'
import { createSerial } from '../serial.ts'
import type { AckBarrier } from './ack-barrier.ts'
import { createAckBarriers } from './ack-barriers.ts'
import type { KillProof } from './proof.ts'
import { readKillState } from './reading.ts'
import { createKillReports } from './reports.ts'
import { createKillState } from './state.ts'
import { createKillViews, type KillViews } from './views.ts'

/**
 * Origin of a kill switch that this replica adopts. `gateway`: another replica announced the kill switch, and a
 * gateway returned the announcement. `lifted`: as for `gateway`, but the kill switch was lifted since and is not in
 * force. `lost`: the database lost a stored kill switch.
 */
export type AdoptedFrom = 'gateway' | 'lifted' | 'lost'
export type StoreAdopted = (announcement: KillAnnouncement, from: AdoptedFrom) => void

/** Sends kill switches to the gateways. */
export type KillBroadcaster = {
  /** Returns all kill switches in force, from all sources, stored or only announced. */
  effective(): readonly KillEntry[]
  /** Returns the kill switches that are in force but not stored yet. */
  announced(): readonly KillEntry[]
  announcements(): readonly KillAnnouncement[]
  /**
   * Sends a kill switch to every connected gateway at once, before the kill switch is stored. With the `id` of an
   * earlier announcement, sends that announcement again.
   */
  announce(
    entry: KillEntry,
    id?: string,
  ): { readonly barrier: AckBarrier; readonly announcement: KillAnnouncement }
  /**
   * Sets the listener for adopted kill switches, which were not activated on this replica. The listener stores the
   * kill switch. If the kill switch was lifted, the listener only settles its announcement.
   */
  onAdopted(store: StoreAdopted): void
  /**
   * Marks the announcement of a kill switch as settled, because the kill switch was stored or another replica settled
   * the announcement.
   */
  settle(id: string): void
  /** Discards the announcements of kill switches that were lifted before they were stored. */
  retract(ids: readonly string[]): void
  /** Returns whether the announcement is pending, that is, not stored yet. */
  isAnnounced(id: string): boolean
  /** Returns whether this replica has recorded that the announcement was stored or lifted. */
  isSettled(id: string): boolean
  /** Returns the epoch and revision of the stored kill state that was read last; null before the first read. */
  order(): StateOrder | null
  /** Reads the stored kill switches again. Broadcasts the kill state if it changed. */
  refresh(): Promise<void>
  /** Broadcasts the current kill state. The returned barrier counts its acknowledgements. */
  broadcast(): AckBarrier
  /**
   * Returns a function that returns the kill state for each process. The function uses the state at the time at which
   * `views` was called.
   */
  views(): KillViews
  /** Sends the kill state again to processes for which a configuration change added or removed kill switches. */
  resend(): void
  greet(peer: Peer): void
  ack(peer: Peer, body: AckBody): void
  /** Counts the acknowledgements that processes of other replicas have reported. */
  countAcks(): void
}

export type KillBroadcasterDeps = {
  readonly db: Db
  readonly peerRegistry: PeerRegistry
  readonly processRegistry: Pick<ProcessRegistry, 'elsewhere' | 'awayCount'>
  readonly library: Pick<SectionLibrary, 'configuration'>
  readonly clock: Clock
  readonly freshness: Freshness
  readonly proof: KillProof
  readonly raiseEpoch: EpochRaiser
  readonly log: Pick<Logger, 'error'>
}

export function createKillBroadcaster(deps: KillBroadcasterDeps): KillBroadcaster {
  const { proof, log } = deps
  const state = createKillState()
  const views = createKillViews({ kills: state, configuration: () => deps.library.configuration })
  const barriers = createAckBarriers({ ...deps, views })
  let store: StoreAdopted = () => undefined

  function announceOnly(entry: KillEntry, id?: string): KillAnnouncement {
    const announcement = proof.announcementOf(entry, id)
    state.announce(announcement)
    return announcement
  }

  const refresh = createSerial(async () => {
    const take = state.begin()
    const read = () => readKillState(deps, state.stored())
    const { stored, lost } = await deps.freshness.read('kill switches', read)
    // Lost kill switches are announced before the state without them is sent. Otherwise, gateways would lift these
    // kill switches for a moment.
    const announcements = lost.map((entry) => announceOnly(entry))
    if (take(stored)) barriers.broadcast()
    if (lost.length > 0) log.error({ scopes: lost.map(({ scope }) => scope) }, LOST)
    for (const announcement of announcements) store(announcement, 'lost')
  })

  const reports = createKillReports({
    ...deps,
    state,
    refresh,
    broadcast: barriers.broadcast,
    sendSettled: barriers.send,
    store: (announcement) => store(announcement, 'gateway'),
    settleLifted: (announcement) => store(announcement, 'lifted'),
  })

  return {
    effective: state.effective,
    announced: () => state.announced().map(({ entry }) => entry),
    announcements: state.announced,
    announce(entry, id) {
      const announcement = state.announced().find((known) => known.id === id) ?? announceOnly(entry, id)
      return { barrier: barriers.broadcast(), announcement }
    },
    onAdopted(listener) {
      store = listener
    },
    settle: state.settle,
    retract: state.retract,
    isAnnounced: state.isAnnounced,
    isSettled: state.isSettled,
    order: state.order,
    refresh,
    broadcast: barriers.broadcast,
    views,
    resend: barriers.resend,
    greet: barriers.send,
    countAcks: barriers.countAcks,
    ack(peer, body) {
      if (body.kill_seq !== undefined) barriers.ack(peer, body.kill_seq)
      reports.compare(peer, body)
    },
  }
}

const LOST =
  'database went back to an earlier state and lost kill switches; they stay in force and are stored again'
