import type { TrafficRecord } from '../../../core/record.ts'
import type { Query } from '../../db/query.ts'
import { FIELDS, NAMES } from './rows.ts'

export type TrafficFilter = {
  readonly agent?: string | undefined
  /** Pod, Sandbox or SandboxClaim of the instance, as `namespace/name`. */
  readonly instance?: string | undefined
  readonly connector?: string | undefined
  readonly decision?: string | undefined
  readonly actionType?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Text to search for in the action type, host, path, agent and reason of records. */
  readonly q?: string | undefined
}

/** Position in the list of records. The next page begins after this record. */
export type TrafficCursor = { readonly time: string; readonly id: string }

/**
 * Stores new records and creates the partitions of their days. Records that are stored already stay unchanged. The same
 * statement queues the new records for every destination of exported records. Returns the ids of the new records.
 */
export async function insertTraffic(
  q: Query,
  orgId: string,
  records: readonly TrafficRecord[],
): Promise<ReadonlySet<string>> {
  if (records.length === 0) return new Set()
  const days = [...new Set(records.map((record) => record.time.slice(0, 10)))]
  await q.query('select ensure_traffic_days($1::date[])', [days])
  const { rows } = await q.query<{ id: string }>(
    `with stored as (insert into traffic (org_id, ${NAMES.join(', ')}, requests)
     select $1, ${NAMES.map(selectedAs).join(', ')}, coalesce((r.refusals->>'count')::bigint, 1) from json_to_recordset($2::json) as r(${FIELDS})
     on conflict do nothing returning time, id),
     queued as (insert into record_outbox (destination, record_time, record_id)
       select d.name, s.time, s.id from stored s cross join record_destinations d order by s.time, s.id)
     select id from stored`,
    [orgId, JSON.stringify(records)],
  )
  return new Set(rows.map(({ id }) => id))
}

/**
 * Returns the SQL expression of a column. Times are truncated to milliseconds, so that a cursor from the ISO text of a
 * time matches exactly.
 */
function selectedAs(name: string | undefined): string {
  return name === 'time' ? "date_trunc('milliseconds', r.time)" : `r.${name}`
}
