import type { Gauges } from '../../metrics.ts'
import { type Exposition, labelText } from './exposition.ts'
import { writeHostedWork } from './hosted-work-metrics.ts'

/** Counters of the process that are not kept for each pair of agent and connector. */
export type ProcessCounters = {
  /** Upstream failures by connector and kind. */
  readonly connectorErrors: Map<string, Map<string, number>>
  readonly rateLimited: Map<string, number>
  readonly loopBlocked: Map<string, number>
  /** Refused or evicted connections by the text of their labels. */
  readonly overQuota: Map<string, number>
}

export function newProcessCounters(): ProcessCounters {
  return {
    connectorErrors: new Map(),
    rateLimited: new Map(),
    loopBlocked: new Map(),
    overQuota: new Map(),
  }
}

export function writeProcess(out: Exposition, counters: ProcessCounters): void {
  writeErrors(out, counters.connectorErrors)
  writeRateLimited(out, counters.rateLimited)
  writeBlocked(out, counters.loopBlocked)
  writeRefused(out, counters.overQuota)
}

export function writeState(out: Exposition, gauges: Gauges, seenScopes: Set<string>): void {
  writeHostedWork(out, gauges.hostedWork)
  writeKill(out, gauges, seenScopes)
  out.family('svc_approvals_pending', 'gauge', 'Pending approvals of requests in this process.')
  out.sample('svc_approvals_pending', '', gauges.approvalsPending)
  out.family(
    'svc_record_batches_deferred_total',
    'counter',
    'Record batches that the control plane deferred, as the ingest quota was used up; they are sent later.',
  )
  out.sample('svc_record_batches_deferred_total', '', gauges.deferredBatches)
}

function writeBlocked(out: Exposition, byStage: ReadonlyMap<string, number>): void {
  const name = 'svc_event_loop_blocked_total'
  out.family(name, 'counter', 'Event loop iterations longer than EVENT_LOOP_BLOCKED_MS, by stage.')
  for (const [stage, n] of byStage) out.sample(name, labelText({ stage }), n)
}

type ActiveContext = { readonly seenAgents: Set<string>; readonly label: (agent: string | null) => string }

/** Writes the number of active requests by agent. An agent without requests keeps its series with the value 0. */
export function writeActive(out: Exposition, gauges: Gauges, { seenAgents, label }: ActiveContext): void {
  const active = new Map<string, number>()
  for (const [name, n] of gauges.activeByAgent) {
    const agent = label(name)
    seenAgents.add(agent)
    active.set(agent, (active.get(agent) ?? 0) + n)
  }
  out.family('svc_active_connections', 'gauge', 'Requests, streams and tunnels in progress by agent.')
  for (const agent of seenAgents)
    out.sample('svc_active_connections', labelText({ agent }), active.get(agent) ?? 0)
}

function writeKill(out: Exposition, gauges: Gauges, seenScopes: Set<string>): void {
  const active = new Set(gauges.killEntries.map((entry) => entry.scope))
  for (const scope of active) seenScopes.add(scope)
  out.family('svc_kill_switch_active', 'gauge', '1 while a kill switch covers this scope.')
  for (const scope of seenScopes)
    out.sample('svc_kill_switch_active', labelText({ scope }), active.has(scope) ? 1 : 0)
}

function writeErrors(out: Exposition, errors: ReadonlyMap<string, ReadonlyMap<string, number>>): void {
  out.family('svc_connector_errors_total', 'counter', 'Upstream failures by connector and kind.')
  for (const [connector, byType] of errors) {
    for (const [error_type, n] of byType)
      out.sample('svc_connector_errors_total', labelText({ connector, error_type }), n)
  }
}

function writeRateLimited(out: Exposition, byAgent: ReadonlyMap<string, number>): void {
  out.family('svc_rate_limit_hits_total', 'counter', 'Requests refused with 429 by agent.')
  for (const [agent, n] of byAgent) out.sample('svc_rate_limit_hits_total', labelText({ agent }), n)
}

/** Writes the refused connections by limit. Connections without an agent were evicted before authentication. */
function writeRefused(out: Exposition, refused: ReadonlyMap<string, number>): void {
  out.family(
    'svc_connections_refused_total',
    'counter',
    'Connections refused or evicted, by agent and limit.',
  )
  for (const [labels, n] of refused) out.sample('svc_connections_refused_total', labels, n)
}
