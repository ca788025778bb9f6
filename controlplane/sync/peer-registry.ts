import type { Order } from './orders.ts'
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

/**
 * Returns a process that serves the agent of the execution order: a gateway process, or the sidecar of the agent. A test
 * of a credential has no agent; any sidecar sends it where no gateway process is connected.
 */
export function peerServing(
  peers: readonly Peer[],
  { agent, credential_test: test }: Order,
): Peer | undefined {
  const served = peers.findLast((peer) => peer.agent === null || peer.agent === agent)
  return served ?? (test == null ? undefined : peers.at(-1))
}
