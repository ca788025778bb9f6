import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { COLUMNS } from './rows.ts'

/**
 * Returns the record. First searches refused and held records: users mostly open records from a refusal, and the index
 * of these records contains the id. The search of all records is slower, because it reads the primary key index of
 * every partition, which begins with the time.
 */
export async function getTrafficRecord(
  q: ScopedQuery,
  orgId: string,
  id: string,
): Promise<TrafficRecord | undefined> {
  const find = (condition: string) =>
    q.rows<TrafficRecord & { time: Date }>(
      [orgId, id],
      (within) => `select ${COLUMNS} from traffic
        where org_id = $1 and id = $2 and ${condition} and ${within.nameOr('agent', 'gateway')} limit 1`,
    )
  const [refused] = await find("decision in ('HOLD', 'DENY')")
  const [row = refused] = refused === undefined ? await find('true') : []
  return row === undefined ? undefined : { ...row, time: row.time.toISOString() }
}
