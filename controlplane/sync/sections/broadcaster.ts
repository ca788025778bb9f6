import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import { currentOrder } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'
import type { Freshness } from '../freshness.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import { createSerial } from '../serial.ts'
import type { SectionLibrary } from './library.ts'
import { signBeat, signManifest } from './signature.ts'

/** Configuration on its way to the gateways: which sections there are, and that the control plane still lives. */
export type SectionBroadcaster = {
  /** Looks whether there is a newer version; sends manifests to the gateways that it concerns. */
  refresh(): Promise<void>
  /** Rejects when the database cannot be read and the gateway is not known yet. */
  greet(peer: Peer): Promise<void>
  /** Nothing while this replica is not fresh: it cannot vouch for what it sent. */
  beat(): void
  /** A gateway has a later configuration than it was sent here: this replica lags, or the database went back. */
  reported(peer: Peer, order: StateOrder): Promise<void>
}

export type SectionBroadcasterDeps = {
  readonly db: Db
  readonly peerRegistry: PeerRegistry
  readonly library: SectionLibrary
  readonly clock: Clock
  readonly freshness: Freshness
  readonly raiseEpoch: EpochRaiser
  /** Called after the configuration was read again and before gateways are sent it. */
  readonly onReloaded?: () => void
}

export function createSectionBroadcaster(deps: SectionBroadcasterDeps): SectionBroadcaster {
  const { db, peerRegistry, library, clock, freshness } = deps
  function send(peer: Peer): void {
    const set = library.of(peer.gatewayId, peer.agent)
    if (set === null) {
      // Its row is gone: there is nothing to tell this gateway any more.
      peer.send({ type: 'goaway', after_ms: LIMITS.beatMs })
      peer.end()
      return
    }
    // Read before its agent was registered: the first rules of a sidecar must not say that nobody knows it.
    if (peer.agent !== null && peer.sentVersion === null && set.texts.get('agents') === '[]') return
    const sent = JSON.stringify([library.order?.epoch, set.hashes])
    if (sent === peer.sentHashes) return
    peer.sentHashes = sent
    peer.sentVersion = set.version
    peer.send(signManifest(peer.syncKey, set, library.order))
  }

  /** An earlier configuration than the known one counts in a new epoch only: the database has lost commits. */
  async function readOrder(): Promise<StateOrder> {
    const read = await currentOrder(db)
    const known = library.order
    if (known === null || !isEarlier(read, known)) return read
    await deps.raiseEpoch({ kill: null, config: known })
    const again = await currentOrder(db)
    if (!isEarlier(again, known)) return again
    throw new Error('the database has an earlier configuration than this replica has read before')
  }

  // Submitted actions reload the library, too: what it has read says nothing about what gateways were sent.
  let broadcast: StateOrder | null = null

  const refresh = createSerial(async () => {
    await freshness.read('configuration', async () => {
      const stored = await readOrder()
      if (!isSame(stored, library.order)) await library.reload()
    })
    if (isSame(library.order, broadcast)) return
    broadcast = library.order
    deps.onReloaded?.()
    for (const peer of peerRegistry.peers.values()) {
      // Whoever came meanwhile may be newer than what was read: its greeting reads once more and says what there is.
      const isUnread = peer.sentVersion === null && library.of(peer.gatewayId, peer.agent) === null
      if (!isUnread) send(peer)
    }
  })

  function beatTo(peers: Iterable<Peer>): void {
    if (!freshness.isFresh()) return
    const until = new Date(clock.nowMs() + LIMITS.leaseHighRiskMs).toISOString()
    for (const peer of peers) {
      if (peer.sentVersion !== null) peer.send(signBeat(peer.syncKey, peer.sentVersion, until))
    }
  }

  return {
    refresh,
    async greet(peer) {
      // A gateway that enrolled a moment ago, or the agent of a sidecar, may be faster than the word of it.
      if (peer.agent !== null || library.of(peer.gatewayId) === null) await refresh()
      send(peer)
      beatTo([peer])
    },
    beat: () => beatTo(peerRegistry.peers.values()),
    async reported(peer, order) {
      if (library.order === null || !isEarlier(library.order, order)) return
      // It may have refused what it was sent, which is then sent again whatever this replica reads.
      peer.sentHashes = ''
      await refresh()
      const isBehind = isEarlier(library.order, order)
      if (isBehind && (await deps.raiseEpoch({ kill: null, config: order }))) await refresh()
      send(peer)
    },
  }
}

function isSame(a: StateOrder | null, b: StateOrder | null): boolean {
  return a?.epoch === b?.epoch && a?.revision === b?.revision
}
