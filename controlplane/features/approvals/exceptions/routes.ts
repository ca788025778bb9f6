import {
  ExceptionsParams,
  ExceptionsQuery,
  ExceptionsReply,
} from '../../../../core/wire/policy-exceptions.ts'
import { requireAdditionalRight } from '../../../http/auth/rights.ts'
import { type Route, route } from '../../../http/route.ts'
import type { PolicyExceptions } from './service.ts'

/**
 * Returns the route that proposes exceptions from the policies that hold a request. The route stores nothing.
 */
export function createExceptionRoutes(deps: {
  readonly policyExceptions: PolicyExceptions
}): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/proxy-approvals/:id/exceptions',
      auth: 'policies/get',
      isNamespaced: true,
      summary:
        'Returns each policy that holds the request, with an exception for this request added, and the results of its tests (also requires `approvals/get`); stores nothing',
      params: ExceptionsParams,
      query: ExceptionsQuery,
      statuses: [404],
      response: ExceptionsReply,
      handler: async ({ principal, namespaces: policies, params, query }) => {
        const approvals = await requireAdditionalRight(principal, 'approvals/get', {
          given: 'all',
          isNamespaced: true,
        })
        return deps.policyExceptions({ id: params.id, target: query.target, approvals, policies })
      },
    }),
  ]
}
