import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

const COLUMNS = `id, process_id, seq, time, gateway, agent, connector, action_type, decision, would, note, reason,
  approval_id, act_id, method, host, path, status, error_type, latency_ms, overhead_ms, bytes_in, bytes_out, permission,
  policies, snapshot_version, transport, why, candidates, actions, action_count, refusals, handle, effects`

/** Returns the record; searches each of the seven daily partitions, because the primary key begins with the time. */
export async function getTrafficRecord(
  q: ScopedQuery,
  orgId: string,
  id: string,
): Promise<TrafficRecord | undefined> {
  const rows = await q.rows<TrafficRecord & { time: Date }>(
    [orgId, id],
    (within) =>
      `select ${COLUMNS} from traffic where org_id = $1 and id = $2 and ${within.nameOr('agent', 'gateway')} limit 1`,
  )
  const [row] = rows
  return row === undefined ? undefined : { ...row, time: row.time.toISOString() }
}

/** Lists the requests of one action, oldest first: its own, and those that its approvals held. */
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
