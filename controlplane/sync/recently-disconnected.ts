import type { KnownProcess } from '../features/gateways/process-store.ts'

/** A process that was connected a moment ago: it still counts when somebody asks how many were stopped. */
export type DisconnectedProcess = {
  readonly gatewayId: string
  readonly processId: string
  /** Its pod or gateway; see `ownerKey`. */
  readonly owner: string
  readonly atMs: number
  /** It did not leave: its replica is silent, and the process may run under its lease. */
  readonly isSilent: boolean
}

/** A row of the database and when we read it, by our clock. */
export type StoredProcess = KnownProcess & { readonly readAtMs: number }

/** What is not in the database yet. */
export type Unreported = {
  readonly left: readonly DisconnectedProcess[]
  readonly replaced: readonly string[]
}

/** Who is away, as the database says it and as this replica has just seen it. */
export type RecentlyDisconnected = {
  left(process: Pick<DisconnectedProcess, 'gatewayId' | 'processId' | 'owner'>): void
  /**
   * A process that comes for the first time takes the place of the one of its owner that left first. Sidecars of other
   * pods stay away, although they have the same gateway.
   */
  arrived(process: Pick<DisconnectedProcess, 'processId' | 'owner'>): void
  /**
   * Away, but there within the last 60 s and not replaced since; or connected to a replica that fell silent, until it is
   * seen elsewhere or its lease is over.
   */
  count(): number
  unreported(): Unreported
  /** From now on the database says it. */
  markReported(unreported: Unreported): void
}

export type RecentlyDisconnectedDeps = {
  readonly known: () => readonly StoredProcess[]
  /** Ids of the processes that are connected, to any replica. */
  readonly connected: () => ReadonlySet<string>
  /** Milliseconds for which a gateway lets anything pass without its control plane. */
  readonly leaseMs: (gatewayId: string) => number
  readonly nowMs: () => number
}

const REMEMBER_MS = 60_000
/** A replica beats for 10 s after its last read, and a beat counts for a moment. */
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
      // Its session ended and its pod is gone: nothing runs there.
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
