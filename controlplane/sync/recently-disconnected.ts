import type { KnownProcess } from '../features/gateways/process-store.ts'

/** A process that was connected recently; it still counts in the total of a kill switch. */
export type DisconnectedProcess = {
  readonly gatewayId: string
  readonly processId: string
  /** Pod or gateway that owns the process; see `ownerKey`. */
  readonly owner: string
  readonly atMs: number
  /**
   * True when the process did not disconnect, but its replica stopped reporting. The process may act until its lease
   * ends.
   */
  readonly isSilent: boolean
}

/** A row of the database with the time of its read, by the clock of this replica. */
export type StoredProcess = KnownProcess & { readonly readAtMs: number }

/** Changes that are not in the database yet. */
export type Unreported = {
  readonly left: readonly DisconnectedProcess[]
  readonly replaced: readonly string[]
}

/** Disconnected processes according to the database and to this replica's unreported changes. */
export type RecentlyDisconnected = {
  left(process: Pick<DisconnectedProcess, 'gatewayId' | 'processId' | 'owner'>): void
  /**
   * Handles a connection. A new process replaces the process of the same owner that disconnected first. Sidecars of
   * other pods are not replaced, although they have the same gateway.
   */
  arrived(process: Pick<DisconnectedProcess, 'processId' | 'owner'>): void
  /**
   * Returns the number of processes that disconnected within the last 60 s and were not replaced, and of those at a
   * silent replica that are not connected elsewhere and whose lease is not over.
   */
  count(): number
  unreported(): Unreported
  /** Discards changes that the database has stored. */
  markReported(unreported: Unreported): void
}

export type RecentlyDisconnectedDeps = {
  readonly known: () => readonly StoredProcess[]
  /** Returns the ids of the processes that are connected to any replica. */
  readonly connected: () => ReadonlySet<string>
  /** Milliseconds for which a gateway forwards requests without its control plane. */
  readonly leaseMs: (gatewayId: string) => number
  readonly nowMs: () => number
}

const REMEMBER_MS = 60_000
/**
 * Time in milliseconds for which a replica without reports can still extend leases. It sends beats for 10 s after its
 * last read; the rest is the time in which a beat is valid.
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
      // Skips a process whose session ended and whose pod is deleted, because the process has ended too.
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
