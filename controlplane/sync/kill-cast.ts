import type { KillEntry } from '../../core/wire/kill.ts'
import { listKillSwitches } from '../store/kill-switches.ts'
import type { Db } from '../store/query.ts'
import type { Census } from './census.ts'
import type { Clock } from './clock.ts'
import { createKillBoard, entriesFor, killStateOf } from './kill-board.ts'
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
  /** Sends a stop to every connected gateway at once, before it is stored. */
  announce(entry: KillEntry): KillRound
  /** The announced entry is stored now. */
  settle(entry: KillEntry): void
  /** Forgets announced entries that were lifted: by one source, or (null) by all. */
  retract(scope: string, source: string | null): void
  /** Whether the entry still waits to be stored. */
  isAnnounced(entry: KillEntry): boolean
  /** Reads the stored stops again and sends them when they changed. */
  refresh(): Promise<void>
  /** Sends the state as it is, to count acknowledgements. */
  round(): KillRound
  greet(peer: Peer): void
  ack(peer: Peer, seq: number): void
  /** Processes of other replicas may have acknowledged. */
  look(): void
}

export type KillCastDeps = {
  readonly db: Db
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere' | 'awayCount'>
  readonly clock: Clock
}

export function createKillCast({ db, roster, census, clock }: KillCastDeps): KillCast {
  const board = createKillBoard()
  let rounds: readonly KillRound[] = []
  let seq = 0

  function send(peer: Peer): void {
    const effective = entriesFor(board.effective(), peer.name)
    peer.sentKill = { seq, state: killStateOf(effective) }
    peer.send({ type: 'kill', seq, effective })
  }

  /** Processes of other replicas that are told by theirs, and have acknowledged what is in force now. */
  function look(): void {
    if (rounds.every((round) => round.isOver())) return
    const effective = board.effective()
    for (const { processId, facts, killState } of census.elsewhere()) {
      if (killState !== killStateOf(entriesFor(effective, facts.name))) continue
      for (const round of rounds) round.heard(processId)
    }
  }

  function round(): KillRound {
    // Rises across restarts and replicas too: a gateway that changes its control plane must not think it knows better.
    seq = Math.max(seq + 1, clock.nowMs())
    const here = [...roster.peers.keys()]
    const processes = [...here, ...census.elsewhere().map(({ processId }) => processId)]
    const total = processes.length + census.awayCount()
    const started = createKillRound({ seq, processes, total, clock })
    rounds = [...rounds.filter((other) => !other.isOver()), started]
    for (const peer of roster.peers.values()) send(peer)
    look()
    return started
  }

  return {
    effective: board.effective,
    announced: () => board.effective().filter(board.isAnnounced),
    announce(entry) {
      board.announce(entry)
      return round()
    },
    settle: board.settle,
    retract: board.retract,
    isAnnounced: board.isAnnounced,
    refresh: createSerial(async () => {
      const take = board.begin()
      if (take(await listKillSwitches(db))) round()
    }),
    round,
    greet(peer) {
      seq = Math.max(seq, clock.nowMs())
      send(peer)
    },
    look,
    ack(peer, acked) {
      if (peer.sentKill !== null && acked >= peer.sentKill.seq) peer.killState = peer.sentKill.state
      for (const open of rounds) open.ack(peer.processId, acked)
    },
  }
}
