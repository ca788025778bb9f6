import { ProbeQuery, ProbeReply } from '../../../core/wire/gateways.ts'
import { type Route, route } from '../../http/route.ts'
import type { GatewayProbe } from './probe.ts'

export function createProbeRoutes({ probe }: { readonly probe: GatewayProbe }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/test-gateway',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'Probes the health of a configured gateway; default: the first one',
      query: ProbeQuery,
      response: ProbeReply,
      handler: async ({ namespaces, query }) => probe(namespaces, query.url),
    }),
  ]
}
