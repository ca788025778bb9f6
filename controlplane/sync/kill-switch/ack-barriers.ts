import type { Clock } from '../../../core/state/clock.ts'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import type { ProcessRegistry } from '../processes/registry.ts'
import type { ElsewhereProcess } from '../processes/stored-processes.ts'
import { type AckBarrier, createAckBarrier } from './ack-barrier.ts'
import type { KillPlace, KillView, KillViews } from './views.ts'

/** Sends the kill state to gateways and counts its acknowledgements. */
export type AckBarriers = {
  /** Sends the kill state to every connected process. The returned barrier counts the acknowledgements. */
  broadcast(): AckBarrier
  /**
   * Sends the kill state to one process, with a new sequence number. `settled`: ids of announcements that were stored
   * or lifted. The message lists these ids in addition to those in the kill state.
   */
  send(peer: Peer, settled?: readonly string[]): void
  /**
   * Sends the kill state again to each process whose set of kill switches has changed, because the process now serves
   * other agents.
   */
  resend(): void
  ack(peer: Peer, seq: number): void
  /** Counts the acknowledgements that processes of other replicas have reported. */
  countAcks(): void
}

export type AckBarriersDeps = {
  /**
   * Returns a function that returns the kill state for each process. The function uses the state at the time at which
   * `views` was called.
   */
  readonly views: () => KillViews
  readonly peerRegistry: PeerRegistry
  readonly processRegistry: Pick<ProcessRegistry, 'elsewhere' | 'awayCount'>
  readonly clock: Clock
}

export function createAckBarriers({
  views,
  peerRegistry,
  processRegistry,
  clock,
}: AckBarriersDeps): AckBarriers {
  let barriers: readonly AckBarrier[] = []
  let seq = 0

  function nextSeq(): void {
    // The sequence number of a message is at least the time of the clock in milliseconds, so that the numbers also
    // rise across restarts and between replicas.
    seq = Math.max(seq + 1, clock.nowMs())
  }

  function sendTo(peers: Iterable<Peer>, viewOf: KillViews, settled: readonly string[] = []): void {
    // JSON line of each distinct kill state. Each line is serialized once, because thousands of processes
    // share a few long lines.
    const lines = new Map<KillView, string>()
    for (const peer of peers) {
      const view = viewOf(peer)
      const line = lines.get(view) ?? JSON.stringify(messageOf(view, seq, settled))
      lines.set(view, line)
      peer.sentKill = { seq, state: view.name }
      peer.sendLine(line)
    }
  }

  const countAcks = () => countElsewhere(barriers, views, processRegistry)

  return {
    countAcks,
    broadcast() {
      nextSeq()
      const here = [...peerRegistry.peers.keys()]
      const processes = [...here, ...processRegistry.elsewhere().map(({ processId }) => processId)]
      const total = processes.length + processRegistry.awayCount()
      const started = createAckBarrier({ seq, processes, total, clock })
      barriers = [...barriers.filter((other) => !other.isOver()), started]
      sendTo(peerRegistry.peers.values(), views())
      countAcks()
      return started
    },
    send(peer, settled) {
      nextSeq()
      sendTo([peer], views(), settled)
    },
    resend() {
      const viewOf = views()
      const changed = [...peerRegistry.peers.values()].filter((peer) => {
        return peer.sentKill !== null && peer.sentKill.state !== viewOf(peer).name
      })
      if (changed.length === 0) return
      nextSeq()
      sendTo(changed, viewOf)
    },
    ack(peer, acked) {
      const sent = peer.sentKill
      // A number above the number that this replica sent acknowledges a message of another replica with a faster
      // clock.
      if (sent === null || acked > sent.seq) return
      if (acked === sent.seq) peer.killState = sent.state
      for (const open of barriers) open.ack(peer.processId, acked)
    },
  }
}

function messageOf({ effective, state }: KillView, seq: number, settled: readonly string[]): DownMessage {
  const full = state && { state: { ...state, settled: [...new Set([...state.settled, ...settled])] } }
  return { type: 'kill', seq, effective: [...effective], ...full }
}

/** Counts processes of other replicas that have acknowledged the kill state in force. */
function countElsewhere(
  barriers: readonly AckBarrier[],
  views: () => KillViews,
  processRegistry: Pick<ProcessRegistry, 'elsewhere'>,
): void {
  if (barriers.every((barrier) => barrier.isOver())) return
  const viewOf = views()
  for (const process of processRegistry.elsewhere()) {
    if (process.killState !== viewOf(placeOf(process)).name) continue
    for (const barrier of barriers) barrier.complete(process.processId)
  }
}

/** Returns the gateway and agent of a process that is connected to another replica. */
function placeOf({ gatewayId, facts }: Pick<ElsewhereProcess, 'gatewayId' | 'facts'>): KillPlace {
  const { name, agent = null } = facts
  return { gatewayId, name, agent }
}
