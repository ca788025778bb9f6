import type { OwnRecord } from '../../../core/record.ts'
import { type ActionCounts, newActionCounts, writeActions } from './action-metrics.ts'
import { bump } from './counts.ts'
import { type Exposition, Histogram, labelText } from './exposition.ts'
import { DECISION_LABEL } from './labels.ts'

const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300]
const OVERHEAD_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1]

/** Counters of one agent and connector. One map access finds all counters of a request. */
export class SeriesCounters {
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

export function countRequest(slot: SeriesCounters, record: OwnRecord, action_type: string): void {
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

export function writeSlots(out: Exposition, slots: readonly SeriesCounters[]): void {
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
