import * as z from 'zod'
import { type Route, route } from '../../http/route.ts'
import type { Health } from './service.ts'

const CheckView = z.object({
  status: z.enum(['ok', 'error']),
  latencyMs: z.number(),
  error: z.enum(['Timeout', 'unreachable', 'unavailable']).optional(),
})
const HealthView = z.object({
  status: z.enum(['healthy', 'degraded']),
  timestamp: z.string(),
  checks: z.object({ database: CheckView, gateway: CheckView }),
})

export function createOpsRoutes({ health }: { readonly health: Health }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/health',
      auth: 'none',
      summary: 'Database and gateway; 503 when one of them fails',
      response: HealthView,
      statuses: [503],
      failures: { 503: HealthView },
      handler: async () => {
        const report = await health.report()
        return { status: report.status === 'healthy' ? 200 : 503, body: report }
      },
    }),
    route({
      method: 'GET',
      path: '/livez',
      auth: 'none',
      summary: 'The process answers',
      handler: async () => ({ status: 'ok' }),
    }),
    route({
      method: 'GET',
      path: '/readyz',
      auth: 'none',
      summary: 'The process can do its work: its database answers; 503 else',
      response: z.object({ status: z.enum(['ok', 'not_ready']) }),
      statuses: [503],
      failures: { 503: z.object({ status: z.literal('not_ready') }) },
      handler: async () => {
        const isReady = await health.ready()
        return { status: isReady ? 200 : 503, body: { status: isReady ? 'ok' : 'not_ready' } }
      },
    }),
  ]
}
