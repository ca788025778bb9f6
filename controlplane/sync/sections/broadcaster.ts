import type { Clock } from '../../../core/state/clock.ts'
import { isEarlier } from '../../../core/state/state-order.ts'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { currentOrder } from '../../db/config-version.ts'
import type { Db } from '../../db/query.ts'
import type { EpochRaiser } from '../epoch-raiser.ts'
import type { Freshness } from '../freshness.ts'
import { createPace } from '../pace.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import { createSerial } from '../serial.ts'
import type { SectionLibrary } from './library.ts'
import { createSectionSender } from './section-sender.ts'
import { signBeat } from './signature.ts'

/** Sends the section index to gateways, and heartbeats that extend their leases. */
export type SectionBroadcaster = {
  /** Reads the configuration if its version rose. Sends the section index to the gateways whose sections changed. */
  refresh(): Promise<void>
  /**
   * Sends the section index and a heartbeat to a process that has connected. Rejects when the gateway is not in the last
   * read configuration and the database cannot be read.
   */
  greet(peer: Peer): Promise<void>
  /**
   * Sends a heartbeat to every process that has received a section index. Sends no heartbeats while the last reads of
   * this replica are too old, because the state that it sent may be outdated.
   */
  beat(): void
  /**
   * Handles a gateway that reports a later configuration than this replica sent. Either this replica is behind, or the
   * database lost commits.
   */
  reported(peer: Peer, order: StateOrder): Promise<void>
}

export type SectionBroadcasterDeps = {
  readonly db: Db
  readonly peerRegistry: PeerRegistry
  readonly library: SectionLibrary
  readonly clock: Clock
  readonly freshness: Freshness
  readonly raiseEpoch: EpochRaiser
  /** Called after a read of the configuration, before its sections are sent to gateways. */
  readonly onReloaded?: () => void
}

export function createSectionBroadcaster(deps: SectionBroadcasterDeps): SectionBroadcaster {
  const { db, peerRegistry, library, clock, freshness } = deps
  const { isUnread, prepare, send } = createSectionSender(library)

  /**
   * Returns the epoch and version of the stored configuration. When the version is below the last read version, the
   * database has lost commits. Such a version is valid only in a new epoch.
   */
  async function readOrder(): Promise<StateOrder> {
    const read = await currentOrder(db)
    const known = library.order
    if (known === null || !isEarlier(read, known)) return read
    await deps.raiseEpoch({ kill: null, config: known })
    const again = await currentOrder(db)
    if (!isEarlier(again, known)) return again
    throw new Error(
      'the database has an earlier configuration than this replica has read before; the replica keeps the later one and reads again within 2 s',
    )
  }

  // Epoch and version of the configuration that was last sent to gateways. `library` may already hold a later
  // configuration, because a submitted action also reloads `library`.
  let broadcast: StateOrder | null = null
  let notified: StateOrder | null = null

  const readAndSend = createSerial(async () => {
    await freshness.read('configuration', async () => {
      const stored = await readOrder()
      if (!isSame(stored, library.order)) await library.reload()
    })
    const { order } = library
    if (isSame(order, broadcast)) return
    await sendToAll()
    broadcast = order
  })

  async function refresh(): Promise<void> {
    // Repeats the pass when a submitted action reloaded the configuration during the pass. Each pass begins
    // with a read, because heartbeats stop when the last read is too old.
    do await readAndSend()
    while (!isSame(library.order, broadcast))
  }

  /** Sends changed section indexes in slices, so that kill switches and heartbeats are sent between two slices. */
  async function sendToAll(): Promise<void> {
    const pause = createPace(clock)
    for (const peer of peerRegistry.peers.values()) {
      notifyReloaded()
      await prepare(peer)
      // Skips a gateway that connected during the read and is not in the read configuration. `greet` reads
      // the configuration again for this gateway.
      if (!isUnread(peer)) send(peer)
      await pause()
    }
  }

  /**
   * Calls `onReloaded` when the configuration was reloaded. A submitted action may reload the configuration
   * between two slices.
   */
  function notifyReloaded(): void {
    if (isSame(library.order, notified)) return
    notified = library.order
    deps.onReloaded?.()
  }

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
      // A gateway that was just created, or the agent of a sidecar, may connect before the notification about its row
      // arrives.
      await prepare(peer)
      if (peer.agent !== null || isUnread(peer)) await readAndSend()
      await prepare(peer)
      send(peer)
      beatTo([peer])
    },
    beat: () => beatTo(peerRegistry.peers.values()),
    async reported(peer, order) {
      if (library.order === null || !isEarlier(library.order, order)) return
      // The gateway may have rejected the configuration. Without the hashes of sent sections, this replica sends the
      // configuration again even if the configuration has not changed.
      peer.sentSections = null
      await readAndSend()
      const isBehind = isEarlier(library.order, order)
      if (isBehind && (await deps.raiseEpoch({ kill: null, config: order }))) await readAndSend()
      await prepare(peer)
      send(peer)
    },
  }
}

function isSame(a: StateOrder | null, b: StateOrder | null): boolean {
  return a?.epoch === b?.epoch && a?.revision === b?.revision
}
