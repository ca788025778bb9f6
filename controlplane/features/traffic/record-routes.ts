import * as z from 'zod'
import { RecordReply } from '../../../core/wire/dashboard.ts'
import { Id } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { TrafficRecordReading } from './record.ts'

export function createRecordRoute({
  trafficRecord,
}: {
  readonly trafficRecord: TrafficRecordReading
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/traffic/:record_id',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'One governed request',
      params: z.object({ record_id: Id }),
      response: RecordReply,
      handler: async ({ namespaces, params }) => ({
        record: await trafficRecord(namespaces, params.record_id),
      }),
    }),
  ]
}
