import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { COLUMNS } from './rows.ts'

/**
 * Returns the record. Searches each of the seven daily partitions, because the primary key begins with the time, which
 * the caller does not have.
 */
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
