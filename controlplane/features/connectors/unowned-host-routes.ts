import { UnownedHostsQuery, UnownedHostsReply } from '../../../core/wire/connectors.ts'
import { type Route, route } from '../../http/route.ts'
import type { UnownedHosts } from './unowned-hosts.ts'

export function createUnownedHostRoutes(deps: { readonly unownedHosts: UnownedHosts }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/unowned-hosts',
      auth: 'records/get',
      isNamespaced: true,
      summary:
        'Lists hosts that agents requested and no connector owns, newest first, with a manifest that gives access to each',
      query: UnownedHostsQuery,
      response: UnownedHostsReply,
      handler: async ({ namespaces, query }) => ({
        hosts: await deps.unownedHosts.list(namespaces, query.limit),
      }),
    }),
  ]
}
