import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { COLUMNS } from './rows.ts'

/**
 * Returns the record. First searches refused and held records, because users mostly open the record of a refusal and
 * the index of these records contains the id. The search of all records is slower: the primary key begins with the
 * time, so the search reads the index of every partition.
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
