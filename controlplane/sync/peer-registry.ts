import { createCredentialHolder } from './credential-holder.ts'
import type { Order } from './orders/orders.ts'
import type { Peer } from './peer.ts'
import type { SectionLibrary } from './sections/library.ts'

/** Registry of the streams that are connected to this replica. */
export type PeerRegistry = {
  readonly peers: ReadonlyMap<string, Peer>
  /** Adds a stream. Returns the earlier stream of the same process, if any, so that the caller can end it. */
  add(peer: Peer): Peer | undefined
  /** Removes a stream. Returns false when a later stream of the same process has replaced the stream. */
  remove(peer: Peer): boolean
  /** Returns the streams of a gateway, the newest last. */
  of(gatewayId: string): readonly Peer[]
  /** Returns the ids of the gateways that have a stream. */
  gateways(): Iterable<string>
}

export function createPeerRegistry(): PeerRegistry {
  const peers = new Map<string, Peer>()
  const byGateway = new Map<string, Set<Peer>>()
  function removeFromGateway(peer: Peer): void {
    const others = byGateway.get(peer.gatewayId)
    others?.delete(peer)
    if (others?.size === 0) byGateway.delete(peer.gatewayId)
  }
  return {
    peers,
    add(peer) {
      const earlier = peers.get(peer.processId)
      if (earlier !== undefined) removeFromGateway(earlier)
      peers.set(peer.processId, peer)
      const ofGateway = byGateway.get(peer.gatewayId) ?? new Set()
      byGateway.set(peer.gatewayId, ofGateway.add(peer))
      return earlier
    },
    remove(peer) {
      if (peers.get(peer.processId) !== peer) return false
      removeFromGateway(peer)
      return peers.delete(peer.processId)
    },
    of: (gatewayId) => [...(byGateway.get(gatewayId) ?? [])],
    gateways: () => byGateway.keys(),
  }
}

/**
 * Returns the newest connected process that can execute the execution order; undefined when no process can. An action
 * of an agent needs a gateway process or the sidecar of the agent. A test of a credential needs a process that has the
 * credential.
 */
export function peerServing(
  peers: readonly Peer[],
  { agent, credential_test: connectorId }: Order,
  library: Pick<SectionLibrary, 'of'>,
): Peer | undefined {
  if (connectorId != null) return peers.findLast(createCredentialHolder(library, connectorId))
  return peers.findLast((peer) => peer.agent === null || peer.agent === agent)
}
