import type { Peer } from './peer.ts'

/** Who is connected to this replica. */
export type PeerRegistry = {
  readonly peers: ReadonlyMap<string, Peer>
  /** The process's earlier stream, if it had one, is answered so that the caller can end it. */
  add(peer: Peer): Peer | undefined
  /** False for a stream that another one of the same process has replaced. */
  remove(peer: Peer): boolean
  of(gatewayId: string): readonly Peer[]
}

export function createPeerRegistry(): PeerRegistry {
  const peers = new Map<string, Peer>()
  return {
    peers,
    add(peer) {
      const earlier = peers.get(peer.processId)
      peers.set(peer.processId, peer)
      return earlier
    },
    remove(peer) {
      return peers.get(peer.processId) === peer && peers.delete(peer.processId)
    },
    of(gatewayId) {
      return [...peers.values()].filter((peer) => peer.gatewayId === gatewayId)
    },
  }
}
