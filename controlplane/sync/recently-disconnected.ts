import type { KnownProcess } from '../features/gateways/process-store.ts'

/** A process that was connected recently. The process still counts in the total of an ack barrier. */
export type DisconnectedProcess = {
  readonly gatewayId: string
  readonly processId: string
  /** Owner of the process: its pod or its gateway (see `ownerKey`). */
  readonly owner: string
  readonly atMs: number
  /**
   * True when the replica of the process stopped reporting, without a disconnect of the process. The process may act
   * until its lease ends.
   */
  readonly isSilent: boolean
}

/** A database row of a process, with the time of the read by the clock of this replica. */
export type StoredProcess = KnownProcess & { readonly readAtMs: number }

/** Changes that this replica has not written to the database yet. */
export type Unreported = {
  readonly left: readonly DisconnectedProcess[]
  readonly replaced: readonly string[]
}

/** Tracks disconnected processes, from the database and from unreported changes of this replica. */
export type RecentlyDisconnected = {
  left(process: Pick<DisconnectedProcess, 'gatewayId' | 'processId' | 'owner'>): void
  /**
   * Handles the connection of a process. A new process replaces the process of the same owner that disconnected first.
   * Sidecars of one gateway in different pods have different owners.
   */
  arrived(process: Pick<DisconnectedProcess, 'processId' | 'owner'>): void
  /**
   * Returns the number of processes that may still act. Counts processes that disconnected within the last 60 s and
   * were not replaced. Also counts the processes of a silent replica that are not connected to another replica and
   * whose lease has not ended.
   */
  count(): number
  unreported(): Unreported
  /** Discards changes that were written to the database. */
  markReported(unreported: Unreported): void
}

export type RecentlyDisconnectedDeps = {
  readonly known: () => readonly StoredProcess[]
  /** Returns the ids of the processes that are connected to any replica. */
  readonly connected: () => ReadonlySet<string>
  /** Milliseconds for which a gateway forwards requests while its control plane does not answer. */
  readonly leaseMs: (gatewayId: string) => number
  readonly nowMs: () => number
}

const REMEMBER_MS = 60_000
/**
 * Milliseconds for which a replica that stopped reporting may still extend leases. The replica sends beats for 10 s
 * after its last read; the rest is the validity of a beat.
 */
const BEATS_ON_MS = 15_000

export function createRecentlyDisconnected({
  known,
  connected,
  leaseMs,
  nowMs,
}: RecentlyDisconnectedDeps): RecentlyDisconnected {
  const leaving = new Map<string, DisconnectedProcess>()
  const replaced = new Set<string>()

  function away(): readonly DisconnectedProcess[] {
    const gone = new Map(leaving)
    for (const { awayS, readAtMs, isPodDeleted, ...row } of known()) {
      if (awayS === null || gone.has(row.processId)) continue
      // Skips a process whose session ended and whose pod is deleted. The process has ended together with its pod.
      if (isPodDeleted && !row.isSilent) continue
      const { processId, gatewayId, owner, isSilent } = row
      gone.set(processId, { processId, gatewayId, owner, atMs: readAtMs - awayS * 1_000, isSilent })
    }
    const there = connected()
    const keptMs = ({ gatewayId, isSilent }: DisconnectedProcess) =>
      isSilent ? leaseMs(gatewayId) + BEATS_ON_MS : REMEMBER_MS
    const isCounted = (one: DisconnectedProcess) =>
      !there.has(one.processId) && !replaced.has(one.processId) && nowMs() - one.atMs <= keptMs(one)
    return [...gone.values()].filter(isCounted)
  }

  return {
    left({ gatewayId, processId, owner }) {
      leaving.set(processId, { gatewayId, processId, owner, atMs: nowMs(), isSilent: false })
    },
    arrived({ processId, owner }) {
      const isBack = leaving.delete(processId) || known().some((row) => row.processId === processId)
      if (isBack) return
      const others = away().filter((gone) => gone.owner === owner && !gone.isSilent)
      const [first] = others.sort((a, b) => a.atMs - b.atMs)
      if (first !== undefined) replaced.add(first.processId)
    },
    count: () => away().length,
    unreported: () => ({ left: [...leaving.values()], replaced: [...replaced] }),
    markReported(unreported) {
      for (const gone of unreported.left)
        if (leaving.get(gone.processId) === gone) leaving.delete(gone.processId)
      for (const id of unreported.replaced) replaced.delete(id)
    },
  }
}
