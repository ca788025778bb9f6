import * as z from 'zod'
import { actorOf } from '../../events.ts'
import { type Route, route } from '../../http/route.ts'
import type { ControlPlaneMetrics } from '../health/metrics.ts'
import type { Retention } from './retention.ts'

export type MaintenanceRoutesDeps = { readonly retention: Retention; readonly metrics: ControlPlaneMetrics }

/** Number of deleted rows of one part of the cleanup; -1 when the part failed. */
const Count = z.int().min(-1)
const CleanupView = z.object({
  status: z.enum(['ok', 'partial']),
  timestamp: z.string(),
  cleaned: z.object({
    expired_nonces: Count,
    expired_sessions: Count,
    used_nonces_cleaned: Count,
    old_audit_events: Count,
  }),
  also_cleaned: z.object({
    old_traffic: Count,
    idempotency_keys: Count,
    invitations: Count,
    old_actions: Count,
    old_approvals: Count,
    stale_orders: Count,
    rate_slots: Count,
    provider_handles: Count,
    lost_records: Count,
  }),
})

export function createMaintenanceRoutes({ retention, metrics }: MaintenanceRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/maintenance/cleanup',
      auth: 'maintenance',
      summary: 'Removes what is too old: nonces, sessions, audit events, traffic, actions, approvals',
      response: CleanupView,
      statuses: [409],
      handler: async ({ principal }) => retention.run(actorOf(principal)),
    }),
    route({
      method: 'GET',
      path: '/api/metrics',
      auth: 'maintenance',
      summary: 'Metrics in the exposition format of Prometheus',
      produces: 'text/plain',
      handler: async () => ({
        status: 200,
        body: await metrics.scrape(),
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      }),
    }),
  ]
}
