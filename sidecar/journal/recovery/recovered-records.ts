import type { TrafficRecord } from '../../../core/record.ts'
import { recordJson } from '../../pipeline/record/record-json.ts'
import type { Log } from '../../process/log.ts'
import type { Backlog } from '../backlog.ts'
import { line } from '../line.ts'
import type { LostRanges } from '../lost-ranges.ts'
import type { Outage } from '../outage.ts'
import type { Segments } from '../segments/segments.ts'
import type { Recovery } from './recover.ts'
import { lostLine } from './sequence-recovery.ts'

/** Records of requests whose process crashed, and lost ranges, until this process has stored them as its own. */
export type RecoveredRecords = {
  /**
   * Writes recovered records and lost ranges to disk before the old segments that contain their traces may be deleted.
   * After a failed write, which begins an outage, the next call writes them again. Does nothing once they are stored.
   */
  store(): void
}

export type RecoveredRecordsDeps = {
  readonly segments: Pick<Segments, 'append' | 'sync'>
  readonly outage: Pick<Outage, 'attempt'>
  readonly backlog: Pick<Backlog, 'add' | 'allowTrimming'>
  readonly lost: Pick<LostRanges, 'recovered'>
  readonly log: Pick<Log, 'warn'>
}

type Recovered = Pick<Recovery, 'unknown' | 'lost'>

export function createRecoveredRecords(recovered: Recovered, deps: RecoveredRecordsDeps): RecoveredRecords {
  const { segments, outage, backlog, log } = deps
  let unstored: Recovered | null = recovered

  /** Writes and flushes the lines. Returns false when the journal could not be written. */
  function write(lines: Buffer): boolean {
    if (!outage.attempt('write', () => segments.append(lines))) return false
    return outage.attempt(lines.length === 0 ? 'write' : 'sync', () => segments.sync())
  }

  return {
    store() {
      if (unstored === null) return
      const { unknown, lost } = unstored
      const { entries, lines } = recoveredLines(unstored)
      if (!write(lines)) return
      for (const { record, json } of entries) backlog.add(Buffer.from(json), record)
      deps.lost.recovered(lost)
      unstored = null
      backlog.allowTrimming()
      logRecovered(log, { unknown, lost })
    },
  }
}

type Entry = { readonly record: TrafficRecord; readonly json: string }

/** Returns the journal lines by which this process takes over recovered records and lost ranges. */
function recoveredLines({ unknown, lost }: Recovered): {
  entries: readonly Entry[]
  lines: Buffer
} {
  const entries = unknown.map((record) => ({ record, json: recordJson(record) }))
  const results = entries.map(({ json }) => line('result', json))
  return { entries, lines: Buffer.from([...results, ...lost.map(lostLine)].join('')) }
}

function logRecovered(log: Pick<Log, 'warn'>, { unknown, lost }: Recovered): void {
  if (unknown.length > 0)
    log.warn({ unknown: unknown.length }, 'requests of a crashed process were recorded with unknown outcome')
  if (lost.length > 0)
    log.warn(
      { lost },
      'a former process crashed, and some of its sequence numbers have no record: the record was lost, or the number was not used',
    )
}

/** Logs the lines of the journal that recovery skipped. */
export function logTorn(log: Pick<Log, 'warn'>, { tornLines, tornAt }: Recovery): void {
  if (tornLines > 0)
    log.warn(
      { tornLines, tornAt },
      'truncated or damaged lines of the journal skipped; the records in them may be incomplete or lost',
    )
}
