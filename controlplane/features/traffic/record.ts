import { ChaperoneError } from '../../../core/errors.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { getTrafficRecord } from './record-store.ts'

/** Returns one record by its id. Throws `not_found`. */
export type TrafficRecordReading = (namespaces: Namespaces, id: string) => Promise<TrafficRecord>

export function createTrafficRecordReading({
  read,
  orgId,
}: {
  readonly read: ScopedReads
  readonly orgId: string
}): TrafficRecordReading {
  return async (namespaces, id) => {
    const record = await getTrafficRecord(read(namespaces), orgId, id)
    if (record !== undefined) return record
    throw new ChaperoneError('not_found', {
      detail: `There is no record ${id}. The traffic log keeps records for seven days, or for the hours of TRAFFIC_RETENTION_HOURS; the audit log keeps events longer.`,
    })
  }
}
