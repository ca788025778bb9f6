import type { Peer } from './peer.ts'

/** A process that was connected a moment ago: it still counts when somebody asks how many were stopped. */
type Departed = { readonly gatewayId: string; readonly processId: string; readonly atMs: number }

const REMEMBER_MS = 60_000

/** Who is connected, and who was within the last minute. */
export type Roster = {
  readonly peers: ReadonlyMap<string, Peer>
  /** The process's earlier stream, if it had one, is answered so that the caller can end it. */
  add(peer: Peer): Peer | undefined
  remove(peer: Peer, nowMs: number): void
  of(gatewayId: string): readonly Peer[]
  /** Processes that are away, but were there within the last 60 s and were not replaced since. */
  awayCount(nowMs: number): number
}

export function createRoster(): Roster {
  const peers = new Map<string, Peer>()
  let departed: readonly Departed[] = []
  return {
    peers,
    add(peer) {
      const earlier = peers.get(peer.processId)
      peers.set(peer.processId, peer)
      departed = withoutReplaced(departed, peer)
      return earlier
    },
    remove(peer, nowMs) {
      if (peers.get(peer.processId) !== peer) return
      peers.delete(peer.processId)
      departed = [...departed, { gatewayId: peer.gatewayId, processId: peer.processId, atMs: nowMs }]
    },
    of(gatewayId) {
      return [...peers.values()].filter((peer) => peer.gatewayId === gatewayId)
    },
    awayCount(nowMs) {
      departed = departed.filter((gone) => nowMs - gone.atMs <= REMEMBER_MS)
      return departed.length
    },
  }
}

/** The same process came back, or a new one took the place of the one of its gateway that left first. */
function withoutReplaced(departed: readonly Departed[], peer: Peer): readonly Departed[] {
  const self = departed.findIndex((gone) => gone.processId === peer.processId)
  const index = self >= 0 ? self : departed.findIndex((gone) => gone.gatewayId === peer.gatewayId)
  return departed.filter((_, position) => position !== index)
}
