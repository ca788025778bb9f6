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

/** All gateway processes of the installation, whichever replica they are connected to. */
export type ProcessRegistry = AsyncDisposable & {
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

export type ProcessRegistryDeps = {
  readonly db: Db
  readonly replicaId: string
  readonly peerRegistry: PeerRegistry
  readonly clock: Clock
  /** Milliseconds for which a gateway lets anything pass without its control plane. */
  readonly leaseMs: (gatewayId: string) => number
  /** After each look at what others say. */
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
    // The table is empty after a crash of the database: what is missing there is written again.
    for (const peer of movedAway(known, deps, now)) peer.cut()
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

/** Whoever was replaced leaves no trace. */
function rowsOf({ left, replaced }: Unreported, nowMs: number) {
  const away = left.filter(({ processId }) => !replaced.includes(processId))
  return {
    left: away.map(({ processId, atMs }) => ({ process_id: processId, age_s: (nowMs - atMs) / 1_000 })),
    replaced,
  }
}
