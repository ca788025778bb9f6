import type { Clock } from '../../../core/state/clock.ts'
import type { Db } from '../../db/query.ts'
import { ownerKey } from '../../features/gateways/rows.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import { createSerial } from '../serial.ts'
import { Throttle } from '../throttle.ts'
import { createLastReported } from './last-reported.ts'
import { createRecentlyDisconnected, type Unreported } from './recently-disconnected.ts'
import { type KnownProcess, listProcesses, reportProcesses, withdrawReplica } from './store.ts'
import { type ElsewhereProcess, indexProcesses, isThere, type StoredProcess } from './stored-processes.ts'

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
   * Requests a refresh after a change of a process of any replica. The refresh starts at once, or after the pause that
   * follows the last refresh. The pause limits the load, because each refresh reads all processes.
   */
  changed(): void
  /** Lists the processes of other replicas, as of the last read. */
  elsewhere(): readonly ElsewhereProcess[]
  /** Lists the processes of one gateway at other replicas, as of the last read. */
  elsewhereOf(gatewayId: string): readonly ElsewhereProcess[]
  /** Returns the number of disconnected processes that may still act (see `RecentlyDisconnected`). */
  awayCount(): number
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

/** Longest pause between two requested refreshes. Another replica may wait 2 s for an acknowledgement. */
const MAX_PAUSE_MS = 250

export function createProcessRegistry(deps: ProcessRegistryDeps): ProcessRegistry {
  const { db, replicaId, peerRegistry, clock, onFailed } = deps
  let known = indexProcesses([], replicaId)
  let isDisposed = false
  const lastReported = createLastReported()
  const isElsewhere = ({ processId }: ElsewhereProcess) => !peerRegistry.peers.has(processId)
  const disconnected = createRecentlyDisconnected({
    known: () => known,
    nowMs: clock.nowMs,
    leaseMs: deps.leaseMs,
    isConnected: (processId) => peerRegistry.peers.has(processId) || known.isElsewhere(processId),
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
    const rows = (await listProcesses(db)).map((row) => ({ ...row, readAtMs: now }))
    known = indexProcesses(rows, replicaId)
    disconnected.markReported(unreported)
    for (const peer of movedAway(rows, deps, now)) peer.cut()
    // After a crash of the database the table of processes is empty, because the table is unlogged. `retain` discards
    // the last reports of processes that are missing in the table, so that the next refresh writes these processes
    // again.
    lastReported.retain(new Set(rows.filter((row) => isThere(row) && row.replicaId === replicaId).map(idOf)))
    deps.onRead()
  })
  const throttle = new Throttle({ work: () => refresh().catch(onFailed), clock, maxPauseMs: MAX_PAUSE_MS })
  const soon = () => throttle.request()

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
    elsewhere: () => known.elsewhere.filter(isElsewhere),
    elsewhereOf: (gatewayId) => known.elsewhereOf(gatewayId).filter(isElsewhere),
    awayCount: disconnected.count,
    async [Symbol.asyncDispose]() {
      isDisposed = true
      throttle[Symbol.dispose]()
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
 * Returns streams of this replica whose process has since connected to another replica. The connection of
 * such a stream is broken, but this replica has not detected this yet.
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

function idOf({ processId }: KnownProcess): string {
  return processId
}

/** Returns the rows to write. Omits the disconnection of a process that another process has replaced. */
function rowsOf({ left, replaced }: Unreported, nowMs: number) {
  const away = left.filter(({ processId }) => !replaced.includes(processId))
  return {
    left: away.map(({ processId, atMs }) => ({ process_id: processId, age_s: (nowMs - atMs) / 1_000 })),
    replaced,
  }
}
