import type { Peer } from './peer.ts'

/** Registry of the streams that are connected to this replica. */
export type PeerRegistry = {
  readonly peers: ReadonlyMap<string, Peer>
  /** Adds a stream. Returns the earlier stream of the same process, if any, so that the caller can end it. */
  add(peer: Peer): Peer | undefined
  /** Removes a stream. Returns false when a later stream of the same process has replaced the stream. */
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
