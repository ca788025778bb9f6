import { ChaperoneError } from '../../core/errors.ts'
import type { TrafficRecord } from '../../core/record.ts'
import type { Db } from '../store/query.ts'
import { getTrafficRecord } from '../store/traffic-record.ts'

/** One record by its id. Throws `not_found`. */
export type TrafficRecordReading = (id: string) => Promise<TrafficRecord>

export function createTrafficRecordReading({
  db,
  orgId,
}: {
  readonly db: Db
  readonly orgId: string
}): TrafficRecordReading {
  return async (id) => {
    const record = await getTrafficRecord(db, orgId, id)
    if (record !== undefined) return record
    throw new ChaperoneError('not_found', {
      detail: `There is no record ${id}: the traffic log keeps seven days, the audit log keeps longer`,
    })
  }
}
