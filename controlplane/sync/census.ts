import { ownerKey } from '../features/gateways/process-owners.ts'
import {
  type KnownProcess,
  listProcesses,
  reportProcesses,
  withdrawReplica,
} from '../features/gateways/process-store.ts'
import type { Db } from '../db/query.ts'
import { createAbsences, type HeardProcess, type Untold } from './absences.ts'
import type { Clock } from './clock.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'
import { createSerial } from './serial.ts'
import { createTold } from './told.ts'

/** All gateway processes of the installation, whichever replica they are connected to. */
export type Census = AsyncDisposable & {
  /** Tells what is new here and reads what is new elsewhere. Rejects when the database does not answer. */
  refresh(): Promise<void>
  arrived(peer: Peer): void
  left(peer: Peer): void
  /** Something that others wait for is new about a process here. */
  changed(): void
  /** Connected to other replicas, as far as was heard. */
  elsewhere(): readonly ElsewhereProcess[]
  /** Processes that are away, but were there within the last 60 s and were not replaced since. */
  awayCount(): number
}

export type ElsewhereProcess = Pick<KnownProcess, 'processId' | 'gatewayId' | 'facts' | 'killState'> & {
  /** By our clock. */
  readonly lastSeenMs: number
}

export type CensusDeps = {
  readonly db: Db
  readonly replicaId: string
  readonly roster: Roster
  readonly clock: Clock
  /** Milliseconds for which a gateway lets anything pass without its control plane. */
  readonly leaseMs: (gatewayId: string) => number
  /** After each look at what others say. */
  readonly onLooked: () => void
  readonly onFailed: (error: unknown) => void
}

export function createCensus(deps: CensusDeps): Census {
  const { db, replicaId, roster, clock, onFailed } = deps
  let known: readonly HeardProcess[] = []
  let isDisposed = false
  const told = createTold()
  const elsewhere = () =>
    known.filter((row) => isThere(row) && row.replicaId !== replicaId && !roster.peers.has(row.processId))
  const absences = createAbsences({
    known: () => known,
    nowMs: clock.nowMs,
    leaseMs: deps.leaseMs,
    connected: () => new Set([...roster.peers.keys(), ...elsewhere().map(idOf)]),
  })

  const refresh = createSerial(async () => {
    if (isDisposed) return
    const now = clock.nowMs()
    const changed = told.changesOf([...roster.peers.values()], now)
    const untold = absences.untold()
    const isNews = changed.some((change) => change.isNews) || untold.left.length > 0
    const reports = changed.map(({ report }) => report)
    await reportProcesses(db, { replicaId, changed: reports, ...rowsOf(untold, now) }, isNews)
    told.written(changed)
    known = (await listProcesses(db)).map((row) => ({ ...row, heardMs: now }))
    absences.told(untold)
    // The table is empty after a crash of the database: what is missing there is written again.
    for (const peer of movedAway(known, deps, now)) peer.cut()
    told.keep(new Set(known.filter((row) => isThere(row) && row.replicaId === replicaId).map(idOf)))
    deps.onLooked()
  })
  const soon = () => void refresh().catch(onFailed)

  return {
    refresh,
    changed: soon,
    arrived(peer) {
      absences.arrived(ownedOf(peer))
      told.forget(peer.processId)
      soon()
    },
    left(peer) {
      absences.left(ownedOf(peer))
      soon()
    },
    elsewhere: () =>
      elsewhere().map(({ silentS, heardMs, ...row }) => ({ ...row, lastSeenMs: heardMs - silentS * 1_000 })),
    awayCount: absences.count,
    async [Symbol.asyncDispose]() {
      isDisposed = true
      // Behind the one that is under way.
      await refresh().catch(onFailed)
      await withdrawReplica(db, replicaId).catch(onFailed)
    },
  }
}

function ownedOf({ gatewayId, processId, pod }: Peer) {
  return { gatewayId, processId, owner: ownerKey({ gatewayId, sidecar: pod?.sidecar ?? null }) }
}

/** Whose gateway process has come to another replica since: the stream here is dead, and its end was never heard. */
function movedAway(
  known: readonly HeardProcess[],
  { replicaId, roster }: Pick<CensusDeps, 'replicaId' | 'roster'>,
  nowMs: number,
): readonly Peer[] {
  return known.flatMap((row) => {
    const peer = roster.peers.get(row.processId)
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

/** Whoever was replaced leaves no trace. */
function rowsOf({ left, replaced }: Untold, nowMs: number) {
  const away = left.filter(({ processId }) => !replaced.includes(processId))
  return {
    left: away.map(({ processId, atMs }) => ({ process_id: processId, age_s: (nowMs - atMs) / 1_000 })),
    replaced,
  }
}
