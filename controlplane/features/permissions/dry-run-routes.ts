import { DryRunQuery } from '../../../core/wire/explain.ts'
import { DryRunReply } from '../../../core/wire/v1.ts'
import { type Route, route } from '../../http/route.ts'
import type { DryRun } from './dry-run.ts'

export function createDryRunRoutes({ dryRun }: { readonly dryRun: DryRun }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/dry-run',
      auth: 'explanations/get',
      isNamespaced: true,
      summary: 'Returns the decision about an action spec of an agent, with the trace; stores nothing',
      query: DryRunQuery,
      statuses: [404],
      response: DryRunReply,
      handler: async ({ namespaces, query }) => dryRun(namespaces, query.agent, query.action_spec),
    }),
  ]
}
