import type { Clock } from '../../../core/state/clock.ts'
import type { Db } from '../../db/query.ts'
import { ownerKey } from '../../features/gateways/rows.ts'
import type { Peer } from '../peer.ts'
import type { PeerRegistry } from '../peer-registry.ts'
import { createSerial } from '../serial.ts'
import { Throttle } from '../throttle.ts'
import { createLastReported } from './last-reported.ts'
import {
  createRecentlyDisconnected,
  type RecentlyDisconnected,
  type Unreported,
} from './recently-disconnected.ts'
import { type KnownProcess, listProcesses, reportProcesses, withdrawReplica } from './store.ts'
import {
  type ElsewhereProcess,
  indexProcesses,
  isThere,
  type StoredProcess,
  type StoredProcesses,
} from './stored-processes.ts'

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

/**
 * Longest time in milliseconds between the end of a requested refresh and the next one. It must be short, because
 * another replica waits only 2 s for an acknowledgement that a refresh writes.
 */
const MAX_PAUSE_MS = 250

/**
 * Registry of all gateway processes that are connected to any replica. Writes the processes of this replica and reads
 * those of the others until disposed; disposal withdraws the processes of this replica.
 */
export class ProcessRegistry implements AsyncDisposable {
  readonly #deps: ProcessRegistryDeps
  readonly #lastReported = createLastReported()
  readonly #disconnected: RecentlyDisconnected
  readonly #throttle: Throttle
  #known: StoredProcesses
  #isDisposed = false

  /**
   * Writes changes of this replica's processes and reads the processes of other replicas. Rejects when the database
   * does not answer.
   */
  readonly refresh: () => Promise<void> = createSerial(() => this.#refresh())

  constructor(deps: ProcessRegistryDeps) {
    const { replicaId, peerRegistry, clock, onFailed } = deps
    this.#deps = deps
    this.#known = indexProcesses([], replicaId)
    this.#disconnected = createRecentlyDisconnected({
      known: () => this.#known,
      nowMs: clock.nowMs,
      leaseMs: deps.leaseMs,
      isConnected: (processId) => peerRegistry.peers.has(processId) || this.#known.isElsewhere(processId),
    })
    this.#throttle = new Throttle({
      work: () => this.refresh().catch(onFailed),
      clock,
      maxPauseMs: MAX_PAUSE_MS,
    })
  }

  arrived(peer: Peer): void {
    this.#disconnected.arrived(ownedOf(peer))
    this.#lastReported.discard(peer.processId)
    this.changed()
  }

  left(peer: Peer): void {
    this.#disconnected.left(ownedOf(peer))
    this.changed()
  }

  /**
   * Requests a refresh after a change of a process of any replica. The refresh starts at once, or at most
   * `MAX_PAUSE_MS` after the last refresh. The wait limits the load, because each refresh reads all processes.
   */
  changed(): void {
    this.#throttle.request()
  }

  /** Lists the processes of other replicas, as of the last read. */
  elsewhere(): readonly ElsewhereProcess[] {
    return this.#known.elsewhere.filter((process) => this.#isElsewhere(process))
  }

  /** Lists the processes of one gateway at other replicas, as of the last read. */
  elsewhereOf(gatewayId: string): readonly ElsewhereProcess[] {
    return this.#known.elsewhereOf(gatewayId).filter((process) => this.#isElsewhere(process))
  }

  /** Returns the number of disconnected processes that may still act (see `RecentlyDisconnected`). */
  awayCount(): number {
    return this.#disconnected.count()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { db, replicaId, onFailed } = this.#deps
    this.#isDisposed = true
    this.#throttle[Symbol.dispose]()
    // `refresh` is serialised, so this call waits for a refresh that is in progress.
    await this.refresh().catch(onFailed)
    await withdrawReplica(db, replicaId).catch(onFailed)
  }

  #isElsewhere({ processId }: ElsewhereProcess): boolean {
    return !this.#deps.peerRegistry.peers.has(processId)
  }

  async #refresh(): Promise<void> {
    if (this.#isDisposed) return
    const { db, replicaId, peerRegistry, clock, onRead } = this.#deps
    const now = clock.nowMs()
    const changed = this.#lastReported.changesOf([...peerRegistry.peers.values()], now)
    const unreported = this.#disconnected.unreported()
    const isVisibleElsewhere =
      changed.some((change) => change.isVisibleElsewhere) || unreported.left.length > 0
    const reports = changed.map(({ report }) => report)
    await reportProcesses(db, { replicaId, changed: reports, ...rowsOf(unreported, now) }, isVisibleElsewhere)
    this.#lastReported.markReported(changed)
    const rows = (await listProcesses(db)).map((row) => ({ ...row, readAtMs: now }))
    this.#known = indexProcesses(rows, replicaId)
    this.#disconnected.markReported(unreported)
    for (const peer of movedAway(rows, this.#deps, now)) peer.cut()
    // After a crash of the database the table of processes is empty, because the table is unlogged. `retain` discards
    // the last reports of processes that are missing in the table, so that the next refresh writes these processes
    // again.
    const stored = rows.filter((row) => isThere(row) && row.replicaId === replicaId)
    this.#lastReported.retain(new Set(stored.map(idOf)))
    onRead()
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
