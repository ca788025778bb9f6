import type { TrafficRecord } from '../../../core/record.ts'
import { recordJson } from '../../pipeline/record/record-json.ts'
import type { Log } from '../../process/log.ts'
import { line } from '../line.ts'
import type { Recovery } from './recover.ts'
import { lostLine } from './sequence-recovery.ts'

export type RecoveredRecords = Pick<Recovery, 'unknown' | 'lost'>

type Entry = { readonly record: TrafficRecord; readonly json: string }

/** Returns the journal lines by which this process takes over recovered records and lost ranges. */
export function recoveredLines({ unknown, lost }: RecoveredRecords): {
  entries: readonly Entry[]
  lines: Buffer
} {
  const entries = unknown.map((record) => ({ record, json: recordJson(record) }))
  const results = entries.map(({ json }) => line('result', json))
  return { entries, lines: Buffer.from([...results, ...lost.map(lostLine)].join('')) }
}

export function logRecovered(log: Pick<Log, 'warn'>, { unknown, lost }: RecoveredRecords): void {
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
