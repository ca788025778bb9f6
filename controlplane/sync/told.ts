import type { ProcessReport } from '../features/gateways/process-store.ts'
import type { Peer } from './peer.ts'

/** What there is to write about a process. `isNews`: others wait for it. */
export type Change = { readonly report: ProcessReport; readonly text: string; readonly isNews: boolean }

/** What was written of each process last, so that only changes are. */
export type Told = {
  changesOf(peers: readonly Peer[], nowMs: number): readonly Change[]
  written(changes: readonly Change[]): void
  forget(processId: string): void
  /** Everybody else is to be written again. */
  keep(processIds: ReadonlySet<string>): void
}

export function createTold(): Told {
  const known = new Map<string, { readonly text: string; readonly killState: string | null }>()
  function keep(processIds: ReadonlySet<string>): void {
    for (const id of known.keys()) if (!processIds.has(id)) known.delete(id)
  }
  return {
    keep,
    changesOf(peers, nowMs) {
      return peers.flatMap((peer) => {
        const text = textOf(peer)
        const before = known.get(peer.processId)
        if (before?.text === text) return []
        const isNews = before === undefined || before.killState !== peer.killState
        return [{ report: reportOf(peer, nowMs), text, isNews }]
      })
    },
    written(changes) {
      for (const { report, text } of changes)
        known.set(report.process_id, { text, killState: report.kill_state })
    },
    forget: (processId) => void known.delete(processId),
  }
}

/** Not the uptime itself: it runs on by itself once it is known. */
function textOf(peer: Peer): string {
  const { name, agents, appliedVersion, sentVersion, killState, uptimeSeconds, rejected } = peer
  const counts = [agents, appliedVersion, sentVersion]
  return JSON.stringify([
    name,
    counts,
    killState,
    uptimeSeconds > 0,
    rejected,
    peer.conditions,
    peer.warnings,
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
      applied_version: peer.appliedVersion,
      sent_version: peer.sentVersion,
      agents: peer.agents,
      uptime_seconds: peer.uptimeSeconds,
      rejected: peer.rejected,
      conditions: peer.conditions,
      warnings: peer.warnings,
    },
    kill_state: peer.killState,
  }
}
