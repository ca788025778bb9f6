import type { KnownProcess } from './store.ts'

/** A database row of a process, with the time of the read by the clock of this replica. */
export type StoredProcess = KnownProcess & { readonly readAtMs: number }

export type ElsewhereProcess = Pick<KnownProcess, 'processId' | 'gatewayId' | 'facts' | 'killState'> & {
  /** Time of the last report, converted to the clock of this replica. */
  readonly lastSeenMs: number
}

/** The rows of one read, indexed once, so that the methods need not scan all rows. */
export type StoredProcesses = {
  readonly rows: readonly StoredProcess[]
  has(processId: string): boolean
  /** Processes that are connected to other replicas. */
  readonly elsewhere: readonly ElsewhereProcess[]
  elsewhereOf(gatewayId: string): readonly ElsewhereProcess[]
  isElsewhere(processId: string): boolean
  /** Processes that are not connected to any replica. */
  readonly away: readonly StoredProcess[]
  awayOf(owner: string): readonly StoredProcess[]
}

export function indexProcesses(rows: readonly StoredProcess[], replicaId: string): StoredProcesses {
  const ids = new Set(rows.map(({ processId }) => processId))
  const elsewhere = rows.filter((row) => isThere(row) && row.replicaId !== replicaId).map(elsewhereOf)
  const elsewhereIds = new Set(elsewhere.map(({ processId }) => processId))
  const byGateway = Map.groupBy(elsewhere, ({ gatewayId }) => gatewayId)
  const away = rows.filter((row) => !isThere(row))
  const awayByOwner = Map.groupBy(away, ({ owner }) => owner)
  return {
    rows,
    has: (processId) => ids.has(processId),
    elsewhere,
    elsewhereOf: (gatewayId) => byGateway.get(gatewayId) ?? [],
    isElsewhere: (processId) => elsewhereIds.has(processId),
    away,
    awayOf: (owner) => awayByOwner.get(owner) ?? [],
  }
}

export function isThere({ awayS }: Pick<KnownProcess, 'awayS'>): boolean {
  return awayS === null
}

function elsewhereOf({ silentS, readAtMs, ...row }: StoredProcess): ElsewhereProcess {
  return { ...row, lastSeenMs: readAtMs - silentS * 1_000 }
}
