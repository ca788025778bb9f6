import type { TrafficRecord } from '../../../core/record.ts'
import type { Query } from '../../db/query.ts'
import { FIELDS, NAMES } from './rows.ts'

export type TrafficFilter = {
  readonly agent?: string | undefined
  readonly connector?: string | undefined
  readonly decision?: string | undefined
  readonly actionType?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** Text to search for in action type, host, path, agent and reason. */
  readonly q?: string | undefined
}

/** Position of a page: it begins after this row. */
export type TrafficCursor = { readonly time: string; readonly id: string }

/**
 * Stores new records and creates the partitions of their days; a repeated record changes nothing. Returns the ids of
 * the new ones.
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
    `insert into traffic (org_id, ${NAMES.join(', ')}, requests)
     select $1, ${NAMES.map(selectedAs).join(', ')}, coalesce((r.refusals->>'count')::bigint, 1) from json_to_recordset($2::json) as r(${FIELDS})
     on conflict do nothing returning id`,
    [orgId, JSON.stringify(records)],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Returns the SQL of the time column in whole milliseconds, so that a cursor made from the ISO text is exact. */
function selectedAs(name: string | undefined): string {
  return name === 'time' ? "date_trunc('milliseconds', r.time)" : `r.${name}`
}
