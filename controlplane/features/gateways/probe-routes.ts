import * as z from 'zod'
import { type Route, route } from '../../http/route.ts'
import type { GatewayProbe } from './probe.ts'

const ProbeView = z.object({
  ok: z.boolean(),
  status: z.enum(['connected', 'not_ready', 'unreachable', 'timeout', 'no_gateway']),
  connectors: z.array(z.string()),
  error: z.string().optional(),
})

export function createProbeRoutes({ probe }: { readonly probe: GatewayProbe }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/test-gateway',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'Asks a configured gateway how it is; without url the first one',
      query: z.strictObject({ url: z.string().min(1).max(2_000).optional() }),
      response: ProbeView,
      handler: async ({ namespaces, query }) => probe(namespaces, query.url),
    }),
  ]
}
