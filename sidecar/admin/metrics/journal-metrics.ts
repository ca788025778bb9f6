import type { JournalMetrics, JournalState } from '../../journal/journal-deps.ts'
import { type Exposition, Histogram, labelText } from './exposition.ts'

const SECONDS_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 10]
const STATES = ['ok', 'full', 'unwritable'] as const satisfies readonly JournalState[]

/** State and fill level of the journal. */
export type JournalGauges = {
  readonly state: JournalState
  readonly bytes: number
  readonly limitBytes: number
  readonly pending: number
  readonly lost: number
}

export type JournalSeries = JournalMetrics & { write(out: Exposition, gauges: JournalGauges): void }

/** Creates the metrics about flushes and failures of the journal's disk. */
export function createJournalMetrics(): JournalSeries {
  const sync = new Histogram(SECONDS_BOUNDS)
  const failures = { write: 0, sync: 0 }
  return {
    synced: (seconds) => sync.observe(seconds),
    failed(operation) {
      failures[operation]++
    },
    write(out, gauges) {
      out.family(
        'svc_journal_state',
        'gauge',
        '1 for the present state of the journal. The gateway forwards requests only in the state ok.',
      )
      for (const each of STATES)
        out.sample('svc_journal_state', labelText({ state: each }), +(each === gauges.state))
      writeFill(out, gauges)
      out.family('svc_journal_failures_total', 'counter', 'Failed writes and flushes of the journal.')
      for (const [operation, n] of Object.entries(failures))
        out.sample('svc_journal_failures_total', labelText({ operation }), n)
      out.family(
        'svc_journal_sync_seconds',
        'histogram',
        'Duration of one journal flush to the disk (audit: sync).',
      )
      out.histogram('svc_journal_sync_seconds', '', sync)
    },
  }
}

function writeFill(out: Exposition, { bytes, limitBytes, pending, lost }: JournalGauges): void {
  out.family('svc_journal_bytes', 'gauge', 'Size of the journal on disk.')
  out.sample('svc_journal_bytes', '', bytes)
  out.family(
    'svc_journal_limit_bytes',
    'gauge',
    'Size limit of the journal. Near the limit the gateway refuses requests.',
  )
  out.sample('svc_journal_limit_bytes', '', limitBytes)
  out.family('svc_journal_pending_records', 'gauge', 'Records that the control plane has not stored yet.')
  out.sample('svc_journal_pending_records', '', pending)
  out.family(
    'svc_journal_lost_records_total',
    'counter',
    'Records that were never written, or never accepted by the control plane.',
  )
  out.sample('svc_journal_lost_records_total', '', lost)
}
