import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { PoliciesReply } from '../../../core/wire/v1.ts'
import { agentOf } from '../../http/auth/agent-principal.ts'
import { type Route, route } from '../../http/route.ts'
import type { PolicyRow } from './rows.ts'
import type { Policies } from './service.ts'
import { policySummary } from './view.ts'

/** Returns the route of the v1 API that lists policies. */
export function createPolicyV1Routes({ policies }: { readonly policies: Policies }): readonly Route[] {
  return [list(policies)]
}

function list(service: Policies): Route {
  return route({
    method: 'GET',
    path: '/api/v1/policies',
    auth: 'agent',
    summary:
      'Lists the policies, highest priority first; an agent of a namespace gets no policies of other namespaces',
    response: PoliciesReply,
    handler: async ({ principal }) => {
      const rows = await policiesOf(service, namespaceOf(agentOf(principal).name))
      return { policies: rows.map(policySummary) }
    },
  })
}

/**
 * Returns the policies that the caller may read. An agent of a namespace reads the policies of its namespace, and
 * policies of the API that are bound to no gateway.
 */
async function policiesOf(service: Policies, namespace: string): Promise<readonly PolicyRow[]> {
  const all = await service.list('all')
  if (namespace === '') return all
  const own = new Set((await service.list(new Set([namespace]))).map(({ id }) => id))
  return all.filter(
    ({ id, source, gatewayIds }) => own.has(id) || (source === 'api' && gatewayIds.length === 0),
  )
}
