import type { TrafficRecord } from '../../../core/record.ts'
import type { Query } from '../../db/query.ts'
import { COLUMNS } from '../traffic/rows.ts'

/** A receiver of exported records, with totals over all replicas. */
export type RecordDestination = {
  readonly name: string
  /** Age in seconds of the oldest record in the outbox; 0 when the outbox is empty. */
  readonly lagS: number
  readonly sent: number
  /** Number of records that the destination refused for good. */
  readonly rejected: number
  /** Number of records that retention deleted before they were sent. */
  readonly dropped: number
  /** Number of failed requests since the destination was created. */
  readonly errors: number
  /** Number of failed requests since the last success. */
  readonly attempts: number
  readonly lastError: string | null
}

export async function listRecordDestinations(q: Query): Promise<readonly RecordDestination[]> {
  const { rows } = await q.query<RecordDestination>(
    `select name, sent, rejected, dropped, errors, attempts, last_error as "lastError",
       coalesce(extract(epoch from clock_timestamp() - (
         select queued_at from record_outbox where destination = name order by position limit 1)), 0)::float8 as "lagS"
     from record_destinations order by name`,
    [],
  )
  return rows
}

/** A row of the outbox. `record`: null when retention has deleted the record. */
export type PendingRecord = {
  readonly position: number
  readonly recordId: string
  readonly queuedAt: Date
  readonly record: TrafficRecord | null
}

/**
 * Lists records that the destination has not accepted, oldest first. Each call begins at the start of the outbox, so a
 * record whose transaction commits late is not skipped.
 */
export async function listPending(
  q: Query,
  {
    destination,
    without,
    limit,
  }: { readonly destination: string; readonly without: readonly number[]; readonly limit: number },
): Promise<readonly PendingRecord[]> {
  // `limit 1` makes the planner look up each record by its primary key. Without `limit 1`, the planner may choose a
  // join that scans whole partitions.
  const { rows } = await q.query<TrafficRecord & PendingRow>(
    `select position as outbox_position, queued_at, record_id, stored.*
     from (select position, queued_at, record_id, record_time from record_outbox
       where destination = $1 and position <> all($2::bigint[]) order by position limit $3) as waiting
     left join lateral (select ${COLUMNS} from traffic
       where time = waiting.record_time and id = waiting.record_id limit 1) as stored on true
     order by position`,
    [destination, without, limit],
  )
  return rows.map(({ outbox_position: position, queued_at: queuedAt, record_id: recordId, ...record }) => ({
    position,
    queuedAt,
    recordId,
    record: record.time === null ? null : { ...record, time: record.time.toISOString() },
  }))
}

type PendingRow = {
  readonly outbox_position: number
  readonly queued_at: Date
  readonly record_id: string
  readonly time: Date | null
}
