import { isEarlier } from '../../core/state/order.ts'
import type { KillAnnouncement, KillEntry, StateOrder } from '../../core/wire/kill.ts'
import type { AckBody } from '../../core/wire/sync.ts'
import { readKillSwitches, type StoredKills } from '../store/kill-switches.ts'
import type { Db } from '../store/query.ts'
import type { Census } from './census.ts'
import type { Clock } from './clock.ts'
import type { EpochRaiser } from './epoch-raiser.ts'
import type { Freshness } from './freshness.ts'
import { createKillBoard, entriesFor, killStateOf } from './kill-board.ts'
import type { KillProof } from './kill-proof.ts'
import { createKillReports } from './kill-reports.ts'
import { createKillRound, type KillRound } from './kill-round.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'
import { createSerial } from './serial.ts'

/** Stops on their way to the gateways. */
export type KillCast = {
  /** The union of all sources, stored or only announced. */
  effective(): readonly KillEntry[]
  /** Stops that are in force and not stored yet. */
  announced(): readonly KillEntry[]
  announcements(): readonly KillAnnouncement[]
  /** Sends a stop to every connected gateway at once, before it is stored. */
  announce(entry: KillEntry): { readonly round: KillRound; readonly announcement: KillAnnouncement }
  /** Called with each stop that another replica announced and a gateway has given back to be stored. */
  onAdopted(store: (announcement: KillAnnouncement) => void): void
  /** The announcement is stored now, or was settled elsewhere. */
  settle(id: string): void
  /** Discards announcements that were lifted. */
  retract(ids: readonly string[]): void
  /** Whether the announcement still waits to be stored. */
  isAnnounced(id: string): boolean
  /** Reads the stored stops again and sends them when they changed. */
  refresh(): Promise<void>
  /** Sends the state as it is, to count acknowledgements. */
  round(): KillRound
  greet(peer: Peer): void
  ack(peer: Peer, body: AckBody): void
  /** Processes of other replicas may have acknowledged. */
  look(): void
}

export type KillCastDeps = {
  readonly db: Db
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere' | 'awayCount'>
  readonly clock: Clock
  readonly freshness: Freshness
  readonly proof: KillProof
  readonly raiseEpoch: EpochRaiser
  readonly onFailed: (error: unknown) => void
}

export function createKillCast(deps: KillCastDeps): KillCast {
  const { roster, census, clock, proof } = deps
  const board = createKillBoard()
  let rounds: readonly KillRound[] = []
  let seq = 0

  function send(peer: Peer, settled: readonly string[] = []): void {
    const effective = entriesFor(board.effective(), peer.name)
    const state = board.stateFor(peer.name)
    peer.sentKill = { seq, state: killStateOf(effective) }
    const full = state && { state: { ...state, settled: [...new Set([...state.settled, ...settled])] } }
    peer.send({ type: 'kill', seq, effective, ...full })
  }

  const look = () => countElsewhere(rounds, board.effective(), census)

  function nextSeq(): void {
    // Rises across restarts and replicas too.
    seq = Math.max(seq + 1, clock.nowMs())
  }

  function round(): KillRound {
    nextSeq()
    const here = [...roster.peers.keys()]
    const processes = [...here, ...census.elsewhere().map(({ processId }) => processId)]
    const total = processes.length + census.awayCount()
    const started = createKillRound({ seq, processes, total, clock })
    rounds = [...rounds.filter((other) => !other.isOver()), started]
    for (const peer of roster.peers.values()) send(peer)
    look()
    return started
  }

  const refresh = createSerial(async () => {
    const take = board.begin()
    const read = () => readKillState(deps, board.order())
    const isChanged = take(await deps.freshness.read('kill switches', read))
    if (isChanged) round()
  })

  const reports = createKillReports({
    ...deps,
    board,
    refresh,
    round,
    sendSettled(peer, ids) {
      nextSeq()
      send(peer, ids)
    },
  })

  return {
    effective: board.effective,
    announced: () => board.announced().map(({ entry }) => entry),
    announcements: board.announced,
    announce(entry) {
      const announcement = proof.announcementOf(entry)
      board.announce(announcement)
      return { round: round(), announcement }
    },
    onAdopted: reports.onAdopted,
    settle: board.settle,
    retract: board.retract,
    isAnnounced: board.isAnnounced,
    refresh,
    round,
    greet(peer) {
      seq = Math.max(seq, clock.nowMs())
      send(peer)
    },
    look,
    ack(peer, body) {
      const { kill_seq: acked } = body
      if (acked !== undefined) {
        if (peer.sentKill !== null && acked >= peer.sentKill.seq) peer.killState = peer.sentKill.state
        for (const open of rounds) open.ack(peer.processId, acked)
      }
      reports.compare(peer, body)
    },
  }
}

/** Processes of other replicas that acknowledged what is in force now. */
function countElsewhere(
  rounds: readonly KillRound[],
  effective: readonly KillEntry[],
  census: Pick<Census, 'elsewhere'>,
): void {
  if (rounds.every((round) => round.isOver())) return
  for (const { processId, facts, killState } of census.elsewhere()) {
    if (killState !== killStateOf(entriesFor(effective, facts.name))) continue
    for (const round of rounds) round.heard(processId)
  }
}

async function readKillState(
  { db, raiseEpoch }: Pick<KillCastDeps, 'db' | 'raiseEpoch'>,
  known: StateOrder | null,
): Promise<StoredKills> {
  const read = await readKillSwitches(db)
  if (known === null || !isEarlier(read.order, known)) return read
  // The database has lost commits: its state counts, in a new epoch.
  await raiseEpoch({ kill: known, config: null })
  return readKillSwitches(db)
}
