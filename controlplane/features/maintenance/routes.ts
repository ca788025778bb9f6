import { CleanupReply } from '../../../core/wire/health.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import type { ControlPlaneMetrics } from './metrics.ts'
import type { Retention } from './service.ts'

export type MaintenanceRoutesDeps = { readonly retention: Retention; readonly metrics: ControlPlaneMetrics }

export function createMaintenanceRoutes({ retention, metrics }: MaintenanceRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/maintenance/cleanup',
      auth: 'maintenance',
      summary:
        'Deletes rows beyond their retention: nonces, sessions, audit events, traffic, actions, approvals',
      response: CleanupReply,
      statuses: [409],
      handler: async ({ principal }) => retention.run(actorOf(principal)),
    }),
    route({
      method: 'GET',
      path: '/api/metrics',
      auth: 'maintenance',
      summary: 'Returns metrics in the exposition format of Prometheus',
      produces: 'text/plain',
      handler: async () => ({
        status: 200,
        body: await metrics.scrape(),
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      }),
    }),
  ]
}
