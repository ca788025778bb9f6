import type { Logger } from 'pino'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { AckBody } from '../../../core/wire/gateway/sync.ts'
import type { Db } from '../../db/query.ts'
import type { Census } from '../census.ts'
import type { Clock } from '../clock.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'
import type { Freshness } from '../freshness.ts'
import { createKillBoard } from './state.ts'
import type { KillProof } from './proof.ts'
import { readKillState } from './reading.ts'
import { createKillReports } from './reports.ts'
import type { KillRound } from './ack-round.ts'
import { createKillRounds } from './ack-rounds.ts'
import { createKillViews, type KillViews } from './views.ts'
import type { SectionLibrary } from '../sections/library.ts'
import type { Peer } from '../peer.ts'
import type { Roster } from '../roster.ts'
import { createSerial } from '../serial.ts'

/**
 * `gateway`: another replica announced it, and a gateway has given it back. `lifted`: so was this one, which was lifted
 * meanwhile and is not in force. `lost`: the database had stored it and lost it.
 */
export type AdoptedFrom = 'gateway' | 'lifted' | 'lost'
export type StoreAdopted = (announcement: KillAnnouncement, from: AdoptedFrom) => void

/** Stops on their way to the gateways. */
export type KillCast = {
  /** The union of all sources, stored or only announced. */
  effective(): readonly KillEntry[]
  /** Stops that are in force and not stored yet. */
  announced(): readonly KillEntry[]
  announcements(): readonly KillAnnouncement[]
  /** Sends a stop to every connected gateway at once, before it is stored. One that has this `id` is sent again. */
  announce(
    entry: KillEntry,
    id?: string,
  ): { readonly round: KillRound; readonly announcement: KillAnnouncement }
  /** Called with each stop that has to be stored, or settled where it was lifted, though nobody set it on this replica. */
  onAdopted(store: StoreAdopted): void
  /** The announcement is stored now, or was settled elsewhere. */
  settle(id: string): void
  /** Discards announcements that were lifted. */
  retract(ids: readonly string[]): void
  /** Whether the announcement still waits to be stored. */
  isAnnounced(id: string): boolean
  /** Whether this replica remembers that the announcement was stored or lifted. */
  isSettled(id: string): boolean
  /** Where the stored state stands that was read last; null before that. */
  order(): StateOrder | null
  /** Reads the stored stops again and sends them when they changed. */
  refresh(): Promise<void>
  /** Sends the state as it is, to count acknowledgements. */
  round(): KillRound
  /** The views as they are at the call. */
  views(): KillViews
  /** The configuration has changed, and with it perhaps the agents that a gateway serves. */
  resend(): void
  greet(peer: Peer): void
  ack(peer: Peer, body: AckBody): void
  /** Processes of other replicas may have acknowledged. */
  look(): void
}

export type KillCastDeps = {
  readonly db: Db
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere' | 'awayCount'>
  readonly library: Pick<SectionLibrary, 'configuration'>
  readonly clock: Clock
  readonly freshness: Freshness
  readonly proof: KillProof
  readonly raiseEpoch: EpochRaiser
  readonly log: Pick<Logger, 'error'>
}

export function createKillCast(deps: KillCastDeps): KillCast {
  const { proof, log } = deps
  const board = createKillBoard()
  const views = createKillViews({ board, configuration: () => deps.library.configuration })
  const rounds = createKillRounds({ ...deps, views })
  let store: StoreAdopted = () => undefined

  function announceOnly(entry: KillEntry, id?: string): KillAnnouncement {
    const announcement = proof.announcementOf(entry, id)
    board.announce(announcement)
    return announcement
  }

  const refresh = createSerial(async () => {
    const take = board.begin()
    const read = () => readKillState(deps, board.stored())
    const { stored, lost } = await deps.freshness.read('kill switches', read)
    // Announced before the state without them is sent, so that no gateway is released.
    const announcements = lost.map((entry) => announceOnly(entry))
    if (take(stored)) rounds.round()
    if (lost.length > 0) log.error({ scopes: lost.map(({ scope }) => scope) }, LOST)
    for (const announcement of announcements) store(announcement, 'lost')
  })

  const reports = createKillReports({
    ...{ ...deps, board, refresh, round: rounds.round, sendSettled: rounds.send },
    store: (announcement) => store(announcement, 'gateway'),
    settleLifted: (announcement) => store(announcement, 'lifted'),
  })

  return {
    effective: board.effective,
    announced: () => board.announced().map(({ entry }) => entry),
    announcements: board.announced,
    announce(entry, id) {
      const announcement = board.announced().find((known) => known.id === id) ?? announceOnly(entry, id)
      return { round: rounds.round(), announcement }
    },
    onAdopted(listener) {
      store = listener
    },
    settle: board.settle,
    retract: board.retract,
    isAnnounced: board.isAnnounced,
    isSettled: board.isSettled,
    order: board.order,
    refresh,
    round: rounds.round,
    views,
    resend: rounds.resend,
    greet: rounds.send,
    look: rounds.look,
    ack(peer, body) {
      if (body.kill_seq !== undefined) rounds.ack(peer, body.kill_seq)
      reports.compare(peer, body)
    },
  }
}

const LOST =
  'database went back to an earlier state and lost kill switches; they stay in force and are stored again'
