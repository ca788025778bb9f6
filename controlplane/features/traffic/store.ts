import type { TrafficRecord } from '../../../core/record.ts'
import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

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

const FIELDS = `id text, process_id text, seq bigint, time timestamptz, gateway text, agent text, connector text,
  action_type text, decision text, would text, note text, reason text, approval_id text, act_id text, method text,
  host text, path text, status integer, error_type text, latency_ms double precision, overhead_ms double precision,
  bytes_in bigint, bytes_out bigint, permission text, policies text[], snapshot_version bigint, transport text, why jsonb,
  candidates text[], actions text[], action_count integer, refusals jsonb, handle text, effects text[]`
const NAMES = FIELDS.split(',').map((field) => field.trim().split(' ')[0])

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

/** Lists records, newest first, at most `limit`, after `cursor`. */
export async function listTraffic(
  q: ScopedQuery,
  orgId: string,
  page: {
    readonly filter: TrafficFilter
    readonly limit: number
    readonly cursor?: TrafficCursor | undefined
  },
): Promise<readonly TrafficRecord[]> {
  const { where, values } = conditions(orgId, page.filter, page.cursor)
  const newest = `order by time desc, id desc limit $${values.length + 1}`
  const rows = await q.rows<TrafficRecord & { time: Date }>([...values, page.limit], (within) => {
    const list = (condition: string) =>
      `select ${NAMES.join(', ')} from traffic where ${[...where, condition].join(' and ')} ${newest}`
    return `select * from (${within.each('agent', 'gateway', list)}) as listed ${newest}`
  })
  return rows.map((row) => ({ ...row, time: row.time.toISOString() }))
}

/** Returns the SQL of the time column in whole milliseconds, so that a cursor made from the ISO text is exact. */
function selectedAs(name: string | undefined): string {
  return name === 'time' ? "date_trunc('milliseconds', r.time)" : `r.${name}`
}

function conditions(orgId: string, filter: TrafficFilter, cursor: TrafficCursor | undefined) {
  const where = ['org_id = $1']
  const values: unknown[] = [orgId]
  const add = (value: unknown, condition: (place: string) => string) => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  add(filter.agent, (p) => `agent = ${p}`)
  add(filter.connector, (p) => `connector = ${p}`)
  add(filter.decision, (p) => `decision = ${p}`)
  add(filter.actionType, (p) => `action_type = ${p}`)
  add(filter.from, (p) => `time >= ${p}::timestamptz`)
  add(filter.to, (p) => `time < ${p}::timestamptz`)
  add(
    filter.q,
    (p) => `position(lower(${p}) in lower(concat_ws(' ', action_type, host, path, agent, reason))) > 0`,
  )
  if (cursor !== undefined) {
    values.push(cursor.time, cursor.id)
    where.push(`(time, id) < ($${values.length - 1}::timestamptz, $${values.length})`)
  }
  return { where, values }
}
