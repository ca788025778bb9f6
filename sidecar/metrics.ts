import type { TrafficRecord } from '../core/record.ts'
import type { KillEntry } from '../core/wire/gateway/kill.ts'
import { type ActionCounts, newActionCounts, writeActions } from './admin/metrics/action-metrics.ts'
import { createExposition, type Exposition, Histogram, labelText } from './admin/metrics/exposition.ts'
import { type HostedWorkCounts, writeHostedWork } from './admin/metrics/hosted-work-metrics.ts'
import { createJournalMetrics } from './admin/metrics/journal-metrics.ts'
import { createLabelBounds, DECISION_LABEL, DENIED_LABEL, errorTypeOf } from './admin/metrics/labels.ts'
import { createLookUpMetrics, type LookUpMetrics } from './admin/metrics/look-up-metrics.ts'
import type { JournalMetrics, JournalState } from './journal/journal-deps.ts'
import type { DenyReason } from './pipeline/exchange.ts'

/** Values read at scrape time. */
export type Gauges = {
  readonly activeByAgent: ReadonlyMap<string | null, number>
  readonly killEntries: readonly KillEntry[]
  readonly approvalsPending: number
  readonly connectors: number
  readonly uptimeSeconds: number
  readonly deferredBatches: number
  readonly journal: JournalState
  readonly hostedWork: HostedWorkCounts
}

export type Metrics = {
  /** Counts an accepted request. */
  accepted(): void
  /** Counts a finished request. `isEchoMasked` is true when the response contained the injected credential. */
  finished(record: TrafficRecord, denyReason: DenyReason | null, isEchoMasked?: boolean): void
  /** Counts a blocked event loop by the stage that ran. */
  loopBlocked(stage: string): void
  /**
   * Counts a connection that was refused, or evicted before it authenticated (`agent` null), by the setting whose
   * limit was reached.
   */
  overQuota(agent: string | null, limit: string): void
  readonly journal: JournalMetrics
  readonly lookUps: LookUpMetrics
  /** Numbers of accepted requests, and of finished requests by decision, since the start. */
  readonly counts: {
    readonly total: number
    readonly ALLOW: number
    readonly HOLD: number
    readonly DENY: number
  }
  /** Returns the body of `GET /metrics` (spec 4.5). */
  scrape(gauges: Gauges): string
  /** Returns the body of `GET /internal/metrics`. */
  internal(gauges: Gauges): string
}

const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300]
const OVERHEAD_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1]
const LATENCY_MS_BOUNDS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000]

/** Counters of one agent and connector. A request finds all of them with one look-up. */
class SeriesCounters {
  readonly connector: string
  readonly agent: string
  /** Label text of the series, computed once because each scrape repeats it in every line. */
  readonly labels: string
  readonly duration = new Histogram(DURATION_BOUNDS)
  readonly overhead = new Histogram(OVERHEAD_BOUNDS)
  readonly requests = { ALLOW: newCounts(), HOLD: newCounts(), DENY: newCounts() } as const
  readonly denied = new Map<string, number>()
  readonly wouldBlock = new Map<string, number>()
  readonly actions: ActionCounts = newActionCounts()
  approved = 0
  masked = 0

  constructor(agent: string, connector: string) {
    this.agent = agent
    this.connector = connector
    this.labels = labelText({ agent, connector })
  }
}

type Counts = Map<string, { readonly labels: string; value: number }>

function newCounts(): Counts {
  return new Map()
}

export function createMetrics(): Metrics {
  const bounds = createLabelBounds()
  const byAgent = new Map<string, Map<string, SeriesCounters>>()
  const slots: SeriesCounters[] = []
  const connectorErrors = new Map<string, Map<string, number>>()
  const rateLimited = new Map<string, number>()
  const loopBlocked = new Map<string, number>()
  const overQuota = new Map<string, number>()
  const seenAgents = new Set<string>()
  const seenScopes = new Set<string>(['all'])
  const latency = new Histogram(LATENCY_MS_BOUNDS)
  const further = { journal: createJournalMetrics(), lookUps: createLookUpMetrics() } as const
  const counts = { total: 0, ALLOW: 0, HOLD: 0, DENY: 0 }

  function countersOf(agent: string, connector: string): SeriesCounters {
    const own = byAgent.get(agent) ?? new Map<string, SeriesCounters>()
    const known = own.get(connector)
    if (known !== undefined) return known
    const slot = new SeriesCounters(agent, connector)
    byAgent.set(agent, own.set(connector, slot))
    slots.push(slot)
    seenAgents.add(agent)
    return slot
  }

  return {
    ...{ counts, ...further },
    accepted() {
      counts.total++
    },
    finished(record, denyReason, isEchoMasked = false) {
      const slot = countersOf(bounds.agent(record.agent), bounds.connector(record.connector))
      counts[record.decision]++
      latency.observe(record.latency_ms)
      countRequest(slot, record, bounds.action(record.action_type))
      const reason = denyReason === null ? null : DENIED_LABEL[denyReason]
      if (reason !== null) bump(slot.denied, reason)
      if (isEchoMasked) slot.masked++
      if (denyReason === 'rate_limit') bump(rateLimited, slot.agent)
      const errorType = errorTypeOf(record)
      if (errorType !== null) bumpIn(connectorErrors, slot.connector, errorType)
    },
    loopBlocked: (stage) => bump(loopBlocked, stage),
    overQuota: (agent, limit) =>
      bump(overQuota, labelText({ agent: agent === null ? '' : bounds.agent(agent), limit })),
    scrape(gauges) {
      const out = createExposition()
      writeSlots(out, slots)
      writeActive(out, gauges, { seenAgents, label: bounds.agent })
      writeState(out, gauges, seenScopes)
      writeErrors(out, connectorErrors)
      writeRateLimited(out, rateLimited)
      writeBlocked(out, loopBlocked)
      writeRefused(out, overQuota)
      further.journal.write(out, gauges.journal)
      return further.lookUps.write(out).text()
    },
    internal(gauges) {
      const out = createExposition()
      out.family('svc_traffic_total', 'counter', 'Proxied requests accepted.')
      out.sample('svc_traffic_total', '', counts.total)
      out.family('svc_traffic_latency_ms', 'histogram', 'Milliseconds from request to end of response.')
      out.histogram('svc_traffic_latency_ms', '', latency)
      writeGauge(out, 'svc_processes_active', 'Gateway processes that share this address.', 1)
      writeGauge(out, 'svc_connectors_total', 'Connectors in the configuration in force.', gauges.connectors)
      writeGauge(out, 'svc_gateway_uptime_seconds', 'Seconds since process start.', gauges.uptimeSeconds)
      return out.text()
    },
  }
}

function writeState(out: Exposition, gauges: Gauges, seenScopes: Set<string>): void {
  writeHostedWork(out, gauges.hostedWork)
  writeKill(out, gauges, seenScopes)
  out.family('svc_approvals_pending', 'gauge', 'Pending approvals of requests in this process.')
  out.sample('svc_approvals_pending', '', gauges.approvalsPending)
  out.family('svc_record_batches_deferred_total', 'counter', 'Record batches deferred by the ingest quota.')
  out.sample('svc_record_batches_deferred_total', '', gauges.deferredBatches)
}

function countRequest(slot: SeriesCounters, record: TrafficRecord, action_type: string): void {
  const counts = slot.requests[record.decision]
  const known = counts.get(action_type)
  if (known === undefined) {
    const own = labelText({ decision: DECISION_LABEL[record.decision], action_type })
    const labels = `${slot.labels},${own}`
    counts.set(action_type, { labels, value: 1 })
  } else known.value++
  slot.actions[record.decision] += record.action_count ?? (record.action_type === null ? 0 : 1)
  slot.duration.observe(record.latency_ms / 1_000)
  slot.overhead.observe(record.overhead_ms / 1_000)
  if (record.approval_id !== null && record.decision === 'ALLOW') slot.approved++
  const { would, decision } = record
  if (would !== null && would !== decision) bump(slot.wouldBlock, DECISION_LABEL[would])
}

function writeSlots(out: Exposition, slots: readonly SeriesCounters[]): void {
  out.family('svc_requests_total', 'counter', 'Proxied requests by agent, connector, decision and action.')
  for (const slot of slots) {
    for (const counts of Object.values(slot.requests)) {
      for (const { labels, value } of counts.values()) out.sample('svc_requests_total', labels, value)
    }
  }
  writeActions(out, slots)
  out.family('svc_requests_denied_total', 'counter', 'Refused requests by reason.')
  writeBy(out, slots, { name: 'svc_requests_denied_total', label: 'reason', of: (slot) => slot.denied })
  writeCount(out, slots, {
    name: 'svc_requests_approved_total',
    help: 'Requests that were forwarded after an approval.',
    of: ({ approved }) => approved,
  })
  out.family(
    'svc_would_block_total',
    'counter',
    'Requests forwarded that full enforcement would have refused.',
  )
  writeBy(out, slots, { name: 'svc_would_block_total', label: 'outcome', of: (slot) => slot.wouldBlock })
  writeCount(out, slots, {
    name: 'svc_credentials_masked_total',
    help: 'Responses in which the injected credential was masked.',
    of: ({ masked }) => masked,
  })
  writeHistograms(out, slots)
}

type Count = { readonly name: string; readonly help: string; readonly of: (slot: SeriesCounters) => number }

function writeCount(out: Exposition, slots: readonly SeriesCounters[], { name, help, of }: Count): void {
  out.family(name, 'counter', help)
  for (const slot of slots) if (of(slot) > 0) out.sample(name, slot.labels, of(slot))
}

type By = {
  readonly name: string
  readonly label: string
  readonly of: (slot: SeriesCounters) => ReadonlyMap<string, number>
}

function writeBy(out: Exposition, slots: readonly SeriesCounters[], { name, label, of }: By): void {
  for (const slot of slots) {
    for (const [value, n] of of(slot)) out.sample(name, `${slot.labels},${labelText({ [label]: value })}`, n)
  }
}

function writeHistograms(out: Exposition, slots: readonly SeriesCounters[]): void {
  out.family('svc_request_duration_seconds', 'histogram', 'Time from request to the end of the response.')
  for (const slot of slots) out.histogram('svc_request_duration_seconds', slot.labels, slot.duration)
  out.family('svc_proxy_overhead_seconds', 'histogram', 'Time that the gateway itself added to a request.')
  for (const slot of slots) out.histogram('svc_proxy_overhead_seconds', slot.labels, slot.overhead)
}

function writeBlocked(out: Exposition, byStage: ReadonlyMap<string, number>): void {
  const name = 'svc_event_loop_blocked_total'
  out.family(name, 'counter', 'Event loop iterations longer than EVENT_LOOP_BLOCKED_MS, by stage.')
  for (const [stage, n] of byStage) out.sample(name, labelText({ stage }), n)
}

type ActiveContext = { readonly seenAgents: Set<string>; readonly label: (agent: string | null) => string }

/** Writes the number of active requests by agent. An agent without requests keeps its series with the value 0. */
function writeActive(out: Exposition, gauges: Gauges, { seenAgents, label }: ActiveContext): void {
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

function writeGauge(out: Exposition, name: string, help: string, value: number): void {
  out.family(name, 'gauge', help)
  out.sample(name, '', value)
}

function bump(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1)
}

function bumpIn(counters: Map<string, Map<string, number>>, outer: string, key: string): void {
  const inner = counters.get(outer) ?? new Map<string, number>()
  counters.set(outer, inner)
  bump(inner, key)
}
