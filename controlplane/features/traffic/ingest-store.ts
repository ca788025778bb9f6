import type { LostRange } from '../../../core/wire/gateway/records.ts'
import type { Query } from '../../db/query.ts'

/** Serialises the uploads of one process, so that the second of two identical uploads finds the rows of the first. */
export async function lockProcessRecords(q: Query, processId: string): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`records ${processId}`])
}

/** Inserts ranges of lost sequence numbers. Repeating an insert changes nothing. */
export async function insertLostRecords(
  q: Query,
  reportedBy: string,
  ranges: readonly LostRange[],
): Promise<void> {
  if (ranges.length === 0) return
  await q.query(
    `insert into lost_records (process_id, from_seq, to_seq, reason, reported_by)
     select process_id, "from", max("to"), reason, $2
     from (select process_id, "from", "to", coalesce(reason, 'unwritten') as reason
       from jsonb_to_recordset($1::jsonb) as r(process_id text, "from" bigint, "to" bigint, reason text)) as lost
     group by process_id, "from", reason order by process_id, "from", reason
     on conflict (process_id, from_seq, reason, reported_by)
       do update set to_seq = greatest(lost_records.to_seq, excluded.to_seq)`,
    [JSON.stringify(ranges), reportedBy],
  )
}

export type HoldAction = { readonly id: string; readonly act: string; readonly agent: string }

/**
 * Returns the action request for which each of these holds was opened. The record of a retry that joined the hold
 * belongs to the evidence (events, approvals and records) of this action request.
 */
export async function findHoldActions(
  q: Query,
  approvalIds: readonly string[],
): Promise<ReadonlyMap<string, HoldAction>> {
  const { rows } = await q.query<HoldAction>(
    'select id, act_id as act, agent from approvals where id = any($1::text[]) and act_id is not null',
    [approvalIds],
  )
  return new Map(rows.map((row) => [row.id, row]))
}
