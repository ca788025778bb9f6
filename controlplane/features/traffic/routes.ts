import { TrafficQuery, TrafficReply } from '../../../core/wire/traffic.ts'
import { type Route, route } from '../../http/route.ts'
import type { Traffic } from './service.ts'

export function createRecordRoutes({ traffic }: { readonly traffic: Traffic }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/traffic',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'Lists governed requests, newest first',
      query: TrafficQuery,
      response: TrafficReply,
      handler: async ({ namespaces, query }) => {
        const { limit, cursor, action_type: actionType, ...filter } = query
        return traffic.list(namespaces, { ...filter, actionType }, { limit, cursor })
      },
    }),
  ]
}
