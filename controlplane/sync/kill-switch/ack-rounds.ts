import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import type { Census, ElsewhereProcess } from '../census.ts'
import type { Clock } from '../clock.ts'
import { createKillRound, type KillRound } from './ack-round.ts'
import type { KillPlace, KillView, KillViews } from './views.ts'
import type { Peer } from '../peer.ts'
import type { Roster } from '../roster.ts'

/** Sends the kill state to gateways and counts the acknowledgements. */
export type KillRounds = {
  /** To every connected gateway. */
  round(): KillRound
  /** To one gateway, with its number raised. `settled`: further ids that it is sent as settled. */
  send(peer: Peer, settled?: readonly string[]): void
  /** To gateways whose view is another one since it was sent: they serve other agents now. */
  resend(): void
  ack(peer: Peer, seq: number): void
  /** Processes of other replicas may have acknowledged. */
  look(): void
}

export type KillRoundsDeps = {
  /** The views as they are at the call. */
  readonly views: () => KillViews
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere' | 'awayCount'>
  readonly clock: Clock
}

export function createKillRounds({ views, roster, census, clock }: KillRoundsDeps): KillRounds {
  let rounds: readonly KillRound[] = []
  let seq = 0

  function nextSeq(): void {
    // Rises across restarts and replicas too.
    seq = Math.max(seq + 1, clock.nowMs())
  }

  function sendTo(peers: Iterable<Peer>, viewOf: KillViews, settled: readonly string[] = []): void {
    // Thousands of processes are sent a few long lines: each is written once.
    const lines = new Map<KillView, string>()
    for (const peer of peers) {
      const view = viewOf(peer)
      const line = lines.get(view) ?? JSON.stringify(messageOf(view, seq, settled))
      lines.set(view, line)
      peer.sentKill = { seq, state: view.name }
      peer.sendLine(line)
    }
  }

  const look = () => countElsewhere(rounds, views, census)

  return {
    look,
    round() {
      nextSeq()
      const here = [...roster.peers.keys()]
      const processes = [...here, ...census.elsewhere().map(({ processId }) => processId)]
      const total = processes.length + census.awayCount()
      const started = createKillRound({ seq, processes, total, clock })
      rounds = [...rounds.filter((other) => !other.isOver()), started]
      sendTo(roster.peers.values(), views())
      look()
      return started
    },
    send(peer, settled) {
      nextSeq()
      sendTo([peer], views(), settled)
    },
    resend() {
      const viewOf = views()
      const changed = [...roster.peers.values()].filter((peer) => {
        return peer.sentKill !== null && peer.sentKill.state !== viewOf(peer).name
      })
      if (changed.length === 0) return
      nextSeq()
      sendTo(changed, viewOf)
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

function messageOf({ effective, state }: KillView, seq: number, settled: readonly string[]): DownMessage {
  const full = state && { state: { ...state, settled: [...new Set([...state.settled, ...settled])] } }
  return { type: 'kill', seq, effective: [...effective], ...full }
}

/** Processes of other replicas that acknowledged what is in force now. */
function countElsewhere(
  rounds: readonly KillRound[],
  views: () => KillViews,
  census: Pick<Census, 'elsewhere'>,
): void {
  if (rounds.every((round) => round.isOver())) return
  const viewOf = views()
  for (const process of census.elsewhere()) {
    if (process.killState !== viewOf(placeOf(process)).name) continue
    for (const round of rounds) round.heard(process.processId)
  }
}

/** Of a process that is connected to another replica. */
export function placeOf({ gatewayId, facts }: Pick<ElsewhereProcess, 'gatewayId' | 'facts'>): KillPlace {
  return { gatewayId, name: facts.name, agent: facts.agent ?? null }
}
