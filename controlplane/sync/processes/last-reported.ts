import type { Peer } from '../peer.ts'
import type { ProcessReport } from './store.ts'

/**
 * Change of a process that is not written to the database yet. `isVisibleElsewhere`: true if the process or its kill
 * state is new, so that other replicas must be notified.
 */
export type Change = {
  readonly report: ProcessReport
  readonly state: ReportedState
  readonly isVisibleElsewhere: boolean
}

/** Stores the last report of each process, so that only changed reports are written to the database. */
export type LastReported = {
  changesOf(peers: readonly Peer[], nowMs: number): readonly Change[]
  markReported(changes: readonly Change[]): void
  discard(processId: string): void
  /**
   * Discards the stored reports of all processes that are not in `processIds`, so that the next refresh writes the
   * reports of the discarded processes again.
   */
  retain(processIds: ReadonlySet<string>): void
}

export function createLastReported(): LastReported {
  const known = new Map<string, ReportedState>()
  function retain(processIds: ReadonlySet<string>): void {
    for (const id of known.keys()) if (!processIds.has(id)) known.delete(id)
  }
  return {
    retain,
    changesOf(peers, nowMs) {
      return peers.flatMap((peer) => {
        const state = stateOf(peer)
        const before = known.get(peer.processId)
        if (before !== undefined && isSame(before, state)) return []
        const isVisibleElsewhere = before === undefined || before.killState !== peer.killState
        return [{ report: reportOf(peer, nowMs), state, isVisibleElsewhere }]
      })
    },
    markReported(changes) {
      for (const { report, state } of changes) known.set(report.process_id, state)
    },
    discard: (processId) => void known.delete(processId),
  }
}

/**
 * State by which two reports are compared. Omits the uptime in seconds, because readers compute the uptime from the
 * first report.
 */
type ReportedState = {
  readonly killState: string | null
  readonly hasUptime: boolean
  readonly facts: readonly unknown[]
  readonly lists: ReadonlyArray<readonly string[]>
}

function stateOf(peer: Peer): ReportedState {
  const { name, greeting, agents, appliedVersion, sentVersion, killState, rejected, hostedWork } = peer
  return {
    killState,
    hasUptime: peer.uptimeSeconds > 0,
    facts: [name, greeting, agents, appliedVersion, sentVersion, rejected, hostedWork],
    lists: [peer.conditions, peer.warnings],
  }
}

/**
 * Compares objects by identity, because each refresh compares all processes. A new object with equal content counts as
 * a change.
 */
function isSame(a: ReportedState, b: ReportedState): boolean {
  return (
    a.killState === b.killState &&
    a.hasUptime === b.hasUptime &&
    hasSameItems(a.facts, b.facts) &&
    a.lists.every((list, index) => hasSameItems(list, b.lists[index] ?? []))
  )
}

function hasSameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

function reportOf(peer: Peer, nowMs: number): ProcessReport {
  return {
    process_id: peer.processId,
    gateway_id: peer.gatewayId,
    age_s: (nowMs - peer.connectedAtMs) / 1_000,
    facts: {
      name: peer.name,
      agent: peer.agent,
      pod_uid: peer.pod?.sidecar.podUid ?? null,
      greeting: peer.greeting,
      applied_version: peer.appliedVersion,
      sent_version: peer.sentVersion,
      agents: peer.agents,
      uptime_seconds: peer.uptimeSeconds,
      rejected: peer.rejected,
      conditions: peer.conditions,
      warnings: peer.warnings,
      hosted_work: peer.hostedWork,
    },
    kill_state: peer.killState,
  }
}
