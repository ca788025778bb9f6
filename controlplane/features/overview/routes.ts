import { ActivityQuery, ActivityReply, OverviewReply } from '../../../core/wire/overview.ts'
import { type Route, route } from '../../http/route.ts'
import type { Activity } from './activity.ts'
import type { Overview } from './service.ts'

export function createOverviewRoutes(deps: {
  readonly overview: Overview
  readonly activity: Activity
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/overview',
      auth: 'records/get',
      isNamespaced: true,
      summary:
        'Returns the gateways with their levels, the kill switches in force and the number of pending approvals',
      response: OverviewReply,
      handler: async ({ namespaces }) => deps.overview(namespaces),
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/activity',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'Returns requests and decisions over time, the most frequent denials and the busiest agents',
      query: ActivityQuery,
      response: ActivityReply,
      handler: async ({ namespaces, query }) => deps.activity(namespaces, query),
    }),
  ]
}
