import type { ProcessReport } from '../features/gateways/process-store.ts'
import type { Peer } from './peer.ts'

/**
 * A state of a process that is not written to the database yet. `isVisibleElsewhere`: other replicas wait for this
 * change, so a notification is sent.
 */
export type Change = {
  readonly report: ProcessReport
  readonly text: string
  readonly isVisibleElsewhere: boolean
}

/** Stores the last report of each process, so that only changed reports are written to the database. */
export type LastReported = {
  changesOf(peers: readonly Peer[], nowMs: number): readonly Change[]
  markReported(changes: readonly Change[]): void
  discard(processId: string): void
  /**
   * Discards the stored reports of all other processes, so that the next refresh writes the reports of these processes
   * again.
   */
  retain(processIds: ReadonlySet<string>): void
}

export function createLastReported(): LastReported {
  const known = new Map<string, { readonly text: string; readonly killState: string | null }>()
  function retain(processIds: ReadonlySet<string>): void {
    for (const id of known.keys()) if (!processIds.has(id)) known.delete(id)
  }
  return {
    retain,
    changesOf(peers, nowMs) {
      return peers.flatMap((peer) => {
        const text = textOf(peer)
        const before = known.get(peer.processId)
        if (before?.text === text) return []
        const isVisibleElsewhere = before === undefined || before.killState !== peer.killState
        return [{ report: reportOf(peer, nowMs), text, isVisibleElsewhere }]
      })
    },
    markReported(changes) {
      for (const { report, text } of changes)
        known.set(report.process_id, { text, killState: report.kill_state })
    },
    discard: (processId) => void known.delete(processId),
  }
}

/**
 * Returns the text by which two reports are compared. The text omits the uptime in seconds, because readers compute the
 * uptime from the first report.
 */
function textOf(peer: Peer): string {
  const { name, agents, appliedVersion, sentVersion, killState, uptimeSeconds, rejected } = peer
  const counts = [agents, appliedVersion, sentVersion]
  return JSON.stringify([
    name,
    peer.greeting,
    counts,
    killState,
    uptimeSeconds > 0,
    rejected,
    peer.conditions,
    peer.warnings,
    peer.hostedWork,
  ])
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
