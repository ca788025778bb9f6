import type { KillEntry } from '../../core/wire/kill.ts'
import type { Census } from './census.ts'
import type { Clock } from './clock.ts'
import { entriesFor, type KillBoard, killStateOf } from './kill-board.ts'
import { createKillRound, type KillRound } from './kill-round.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'

/** Sends the kill state to gateways and counts the acknowledgements. */
export type KillRounds = {
  /** To every connected gateway. */
  round(): KillRound
  /** To one gateway, with its number raised. `settled`: further ids that it is sent as settled. */
  send(peer: Peer, settled?: readonly string[]): void
  ack(peer: Peer, seq: number): void
  /** Processes of other replicas may have acknowledged. */
  look(): void
}

export type KillRoundsDeps = {
  readonly board: Pick<KillBoard, 'effective' | 'stateFor'>
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere' | 'awayCount'>
  readonly clock: Clock
}

export function createKillRounds({ board, roster, census, clock }: KillRoundsDeps): KillRounds {
  let rounds: readonly KillRound[] = []
  let seq = 0

  function nextSeq(): void {
    // Rises across restarts and replicas too.
    seq = Math.max(seq + 1, clock.nowMs())
  }

  function send(peer: Peer, settled: readonly string[] = []): void {
    const effective = entriesFor(board.effective(), peer.name)
    const state = board.stateFor(peer.name)
    peer.sentKill = { seq, state: killStateOf(effective) }
    const full = state && { state: { ...state, settled: [...new Set([...state.settled, ...settled])] } }
    peer.send({ type: 'kill', seq, effective, ...full })
  }

  const look = () => countElsewhere(rounds, board.effective(), census)

  return {
    look,
    round() {
      nextSeq()
      const here = [...roster.peers.keys()]
      const processes = [...here, ...census.elsewhere().map(({ processId }) => processId)]
      const total = processes.length + census.awayCount()
      const started = createKillRound({ seq, processes, total, clock })
      rounds = [...rounds.filter((other) => !other.isOver()), started]
      for (const peer of roster.peers.values()) send(peer)
      look()
      return started
    },
    send(peer, settled) {
      nextSeq()
      send(peer, settled)
    },
    ack(peer, acked) {
      const sent = peer.sentKill
      // The number of another replica, whose clock may be ahead, says nothing of what this one sent.
      if (sent === null || acked > sent.seq) return
      if (acked === sent.seq) peer.killState = sent.state
      for (const open of rounds) open.ack(peer.processId, acked)
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
