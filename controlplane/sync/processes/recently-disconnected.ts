import type { StoredProcess, StoredProcesses } from './stored-processes.ts'

/** A process that was connected recently. The process still counts in the total of an ack barrier. */
export type DisconnectedProcess = {
  readonly gatewayId: string
  readonly processId: string
  /** Owner of the process: its pod or its gateway (see `ownerKey`). */
  readonly owner: string
  readonly atMs: number
  /**
   * True when the replica of the process stopped reporting while the process was connected. The process may act until
   * its lease ends.
   */
  readonly isSilent: boolean
}

/** Changes that this replica has not written to the database yet. */
export type Unreported = {
  readonly left: readonly DisconnectedProcess[]
  readonly replaced: readonly string[]
}

/** Tracks disconnected processes, from the database and from unreported changes of this replica. */
export type RecentlyDisconnected = {
  left(process: Pick<DisconnectedProcess, 'gatewayId' | 'processId' | 'owner'>): void
  /**
   * Handles the connection of a process. A new process replaces one disconnected process of the same owner: the
   * process that disconnected first. Sidecars of one gateway in different pods have different owners.
   */
  arrived(process: Pick<DisconnectedProcess, 'processId' | 'owner'>): void
  /**
   * Returns the number of processes that may still act. Counts processes that disconnected within the last 60 s and
   * were not replaced. Also counts the processes of a replica that stopped reporting, if they are not connected to
   * another replica and their lease has not ended.
   */
  count(): number
  unreported(): Unreported
  /** Discards changes that were written to the database. */
  markReported(unreported: Unreported): void
}

export type RecentlyDisconnectedDeps = {
  readonly known: () => Pick<StoredProcesses, 'has' | 'away' | 'awayOf'>
  /** Returns whether the process is connected to any replica. */
  readonly isConnected: (processId: string) => boolean
  /** Milliseconds for which a gateway forwards requests while its control plane does not answer. */
  readonly leaseMs: (gatewayId: string) => number
  readonly nowMs: () => number
}

const REMEMBER_MS = 60_000
/**
 * Milliseconds for which a replica that stopped reporting may still extend leases. The replica sends heartbeats for 10
 * s after its last read; the remaining 5 s are a margin for the delivery of the last heartbeat.
 */
const BEATS_ON_MS = 15_000

export function createRecentlyDisconnected({
  known,
  isConnected,
  leaseMs,
  nowMs,
}: RecentlyDisconnectedDeps): RecentlyDisconnected {
  const leaving = new Map<string, DisconnectedProcess>()
  const replaced = new Set<string>()

  function away(
    stored: readonly StoredProcess[],
    unreported: readonly DisconnectedProcess[],
  ): readonly DisconnectedProcess[] {
    const others = stored.flatMap(({ awayS, readAtMs, isPodDeleted, ...row }) => {
      if (awayS === null || leaving.has(row.processId)) return []
      // Skips a process that disconnected and whose pod is deleted, because the process has ended together with its
      // pod.
      if (isPodDeleted && !row.isSilent) return []
      const { processId, gatewayId, owner, isSilent } = row
      return [{ processId, gatewayId, owner, atMs: readAtMs - awayS * 1_000, isSilent }]
    })
    return [...unreported, ...others].filter(isCounted)
  }

  function isCounted({ processId, gatewayId, isSilent, atMs }: DisconnectedProcess): boolean {
    const keptMs = isSilent ? leaseMs(gatewayId) + BEATS_ON_MS : REMEMBER_MS
    return !isConnected(processId) && !replaced.has(processId) && nowMs() - atMs <= keptMs
  }

  return {
    left({ gatewayId, processId, owner }) {
      leaving.set(processId, { gatewayId, processId, owner, atMs: nowMs(), isSilent: false })
    },
    arrived({ processId, owner }) {
      const isBack = leaving.delete(processId) || known().has(processId)
      if (isBack) return
      const unreported = [...leaving.values()].filter((gone) => gone.owner === owner)
      const others = away(known().awayOf(owner), unreported).filter(({ isSilent }) => !isSilent)
      const [first] = others.sort((a, b) => a.atMs - b.atMs)
      if (first !== undefined) replaced.add(first.processId)
    },
    count: () => away(known().away, [...leaving.values()]).length,
    unreported: () => ({ left: [...leaving.values()], replaced: [...replaced] }),
    markReported(unreported) {
      for (const gone of unreported.left)
        if (leaving.get(gone.processId) === gone) leaving.delete(gone.processId)
      for (const id of unreported.replaced) replaced.delete(id)
    },
  }
}
