import type { Clock } from '../../core/state/clock.ts'
import type { Db } from '../db/query.ts'
import { ownerKey } from '../features/gateways/process-owners.ts'
import {
  type KnownProcess,
  listProcesses,
  reportProcesses,
  withdrawReplica,
} from '../features/gateways/process-store.ts'
import { createLastReported } from './last-reported.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import { createRecentlyDisconnected, type StoredProcess, type Unreported } from './recently-disconnected.ts'
import { createSerial } from './serial.ts'

/** Registry of all gateway processes that are connected to any replica. */
export type ProcessRegistry = AsyncDisposable & {
  /**
   * Writes changes of this replica's processes and reads the processes of other replicas. Rejects when the database
   * does not answer.
   */
  refresh(): Promise<void>
  arrived(peer: Peer): void
  left(peer: Peer): void
  /**
   * Starts a refresh at once after a change of a process of this replica, because other replicas wait for the change.
   */
  changed(): void
  /** Lists the processes of other replicas, as of the last read. */
  elsewhere(): readonly ElsewhereProcess[]
  /** Returns the number of disconnected processes that may still act (see `RecentlyDisconnected`). */
  awayCount(): number
}

export type ElsewhereProcess = Pick<KnownProcess, 'processId' | 'gatewayId' | 'facts' | 'killState'> & {
  /** Time of the last report, converted to the clock of this replica. */
  readonly lastSeenMs: number
}

export type ProcessRegistryDeps = {
  readonly db: Db
  readonly replicaId: string
  readonly peerRegistry: PeerRegistry
  readonly clock: Clock
  /** Milliseconds for which a gateway forwards requests while its control plane does not answer. */
  readonly leaseMs: (gatewayId: string) => number
  /** Called after each read of the processes of other replicas. */
  readonly onRead: () => void
  readonly onFailed: (error: unknown) => void
}

export function createProcessRegistry(deps: ProcessRegistryDeps): ProcessRegistry {
  const { db, replicaId, peerRegistry, clock, onFailed } = deps
  let known: readonly StoredProcess[] = []
  let isDisposed = false
  const lastReported = createLastReported()
  const elsewhere = () =>
    known.filter(
      (row) => isThere(row) && row.replicaId !== replicaId && !peerRegistry.peers.has(row.processId),
    )
  const disconnected = createRecentlyDisconnected({
    known: () => known,
    nowMs: clock.nowMs,
    leaseMs: deps.leaseMs,
    connected: () => new Set([...peerRegistry.peers.keys(), ...elsewhere().map(idOf)]),
  })

  const refresh = createSerial(async () => {
    if (isDisposed) return
    const now = clock.nowMs()
    const changed = lastReported.changesOf([...peerRegistry.peers.values()], now)
    const unreported = disconnected.unreported()
    const isVisibleElsewhere =
      changed.some((change) => change.isVisibleElsewhere) || unreported.left.length > 0
    const reports = changed.map(({ report }) => report)
    await reportProcesses(db, { replicaId, changed: reports, ...rowsOf(unreported, now) }, isVisibleElsewhere)
    lastReported.markReported(changed)
    known = (await listProcesses(db)).map((row) => ({ ...row, readAtMs: now }))
    disconnected.markReported(unreported)
    for (const peer of movedAway(known, deps, now)) peer.cut()
    // After a crash of the database the table of processes is empty, because the table is unlogged. The discarded
    // reports of missing processes are written again by the next refresh.
    lastReported.retain(new Set(known.filter((row) => isThere(row) && row.replicaId === replicaId).map(idOf)))
    deps.onRead()
  })
  const soon = () => void refresh().catch(onFailed)

  return {
    refresh,
    changed: soon,
    arrived(peer) {
      disconnected.arrived(ownedOf(peer))
      lastReported.discard(peer.processId)
      soon()
    },
    left(peer) {
      disconnected.left(ownedOf(peer))
      soon()
    },
    elsewhere: () =>
      elsewhere().map(({ silentS, readAtMs, ...row }) => ({
        ...row,
        lastSeenMs: readAtMs - silentS * 1_000,
      })),
    awayCount: disconnected.count,
    async [Symbol.asyncDispose]() {
      isDisposed = true
      // `refresh` is serialised, so this call waits for a refresh that is in progress.
      await refresh().catch(onFailed)
      await withdrawReplica(db, replicaId).catch(onFailed)
    },
  }
}

function ownedOf({ gatewayId, processId, pod }: Peer) {
  return { gatewayId, processId, owner: ownerKey({ gatewayId, sidecar: pod?.sidecar ?? null }) }
}

/**
 * Returns streams whose process has connected to another replica since. The connection of such a stream is broken, but
 * its close has not been detected.
 */
function movedAway(
  known: readonly StoredProcess[],
  { replicaId, peerRegistry }: Pick<ProcessRegistryDeps, 'replicaId' | 'peerRegistry'>,
  nowMs: number,
): readonly Peer[] {
  return known.flatMap((row) => {
    const peer = peerRegistry.peers.get(row.processId)
    if (peer === undefined || row.replicaId === replicaId || !isThere(row)) return []
    return row.connectedS * 1_000 < nowMs - peer.connectedAtMs ? [peer] : []
  })
}

function isThere({ awayS }: KnownProcess): boolean {
  return awayS === null
}

function idOf({ processId }: KnownProcess): string {
  return processId
}

/** Returns the rows to write. A process that was replaced has no row. */
function rowsOf({ left, replaced }: Unreported, nowMs: number) {
  const away = left.filter(({ processId }) => !replaced.includes(processId))
  return {
    left: away.map(({ processId, atMs }) => ({ process_id: processId, age_s: (nowMs - atMs) / 1_000 })),
    replaced,
  }
}
