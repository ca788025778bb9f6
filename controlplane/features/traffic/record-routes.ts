import { RecordParams, RecordReply } from '../../../core/wire/traffic.ts'
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
      summary: 'Returns one governed request',
      params: RecordParams,
      response: RecordReply,
      handler: async ({ namespaces, params }) => ({
        record: await trafficRecord(namespaces, params.record_id),
      }),
    }),
  ]
}
