import { HealthReply, LivenessReply, NotReadyReply, ReadinessReply } from '../../../core/wire/health.ts'
import { type Route, route } from '../../http/route.ts'
import type { Health } from './health.ts'

export function createOpsRoutes({ health }: { readonly health: Health }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/health',
      auth: 'none',
      summary: 'Checks the database and the gateway; 503 when one of them fails',
      response: HealthReply,
      statuses: [503],
      failures: { 503: HealthReply },
      handler: async () => {
        const report = await health.report()
        return { status: report.status === 'healthy' ? 200 : 503, body: report }
      },
    }),
    route({
      method: 'GET',
      path: '/livez',
      auth: 'none',
      summary: 'Reports that the process answers',
      response: LivenessReply,
      handler: async () => ({ status: 'ok' as const }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      auth: 'none',
      summary: 'Reports whether the database answers; 503 if not',
      response: ReadinessReply,
      statuses: [503],
      failures: { 503: NotReadyReply },
      handler: async () => {
        const isReady = await health.ready()
        return isReady
          ? { status: 200, body: { status: 'ok' as const } }
          : { status: 503, body: { status: 'not_ready' as const } }
      },
    }),
  ]
}
