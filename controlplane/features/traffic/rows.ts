import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import type { TrafficCursor, TrafficFilter } from './store.ts'

export const COLUMNS = `id, process_id, seq, time, gateway, agent, instance, connector, action_type, decision, would,
  note, reason, approval_id, act_id, method, host, path, status, error_type, latency_ms, overhead_ms, bytes_in, bytes_out, permission,
  policies, snapshot_version, transport, why, candidates, actions, action_count, refusals, handle, effects,
  credential`

/** Lists the requests of one action, oldest first. Requests that approvals of the action held are included. */
export async function listTrafficOfAction(
  q: ScopedQuery,
  orgId: string,
  actId: string,
): Promise<readonly TrafficRecord[]> {
  const rows = await q.rows<TrafficRecord & { time: Date }>(
    [orgId, actId],
    (within) => `select ${COLUMNS} from traffic where org_id = $1 and ${within.nameOr('agent', 'gateway')}
       and (act_id = $2 or approval_id in (select id from approvals where org_id = $1 and act_id = $2))
     order by time, id limit 50`,
  )
  return rows.map((row) => ({ ...row, time: row.time.toISOString() }))
}

export const FIELDS = `id text, process_id text, seq bigint, time timestamptz, gateway text, agent text, instance jsonb, connector text,
  action_type text, decision text, would text, note text, reason text, approval_id text, act_id text, method text,
  host text, path text, status integer, error_type text, latency_ms double precision, overhead_ms double precision,
  bytes_in bigint, bytes_out bigint, permission text, policies text[], snapshot_version bigint, transport text, why jsonb,
  candidates text[], actions text[], action_count integer, refusals jsonb, handle text, effects text[],
  credential jsonb`

export const NAMES = FIELDS.split(',').map((field) => field.trim().split(' ')[0])

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

function conditions(orgId: string, filter: TrafficFilter, cursor: TrafficCursor | undefined) {
  const where = ['org_id = $1']
  const values: unknown[] = [orgId]
  const add = (value: unknown, condition: (place: string) => string) => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  add(filter.agent, (p) => `agent = ${p}`)
  add(filter.instance, (p) => `${p} in (instance->>'claim', instance->>'sandbox', instance->>'pod')`)
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
