import {
  PolicyCheckBody,
  PolicyCheckReply,
  PolicyVersionsParams,
  PolicyVersionsReply,
  ReplayBody,
  ReplayReply,
} from '../../../core/wire/policies.ts'
import { requireAdditionalRight } from '../../http/auth/rights.ts'
import { type Route, route } from '../../http/route.ts'
import type { PolicyCheck } from './check.ts'
import type { PolicyHistory } from './history.ts'
import type { PolicyReplay } from './replay.ts'

export type PolicyAuthoringRoutesDeps = {
  readonly policyCheck: PolicyCheck
  readonly policyReplay: PolicyReplay
  readonly policyHistory: PolicyHistory
}

/** Creates the routes of policy authoring: checks, replays and versions. These routes store nothing. */
export function createPolicyAuthoringRoutes(deps: PolicyAuthoringRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/dashboard/policies/check',
      auth: 'policies/get',
      isNamespaced: true,
      summary: 'Returns the problems of a policy text, by line, and its test results; stores nothing',
      body: PolicyCheckBody,
      response: PolicyCheckReply,
      handler: async ({ namespaces, body: { policyYaml, ...record } }) =>
        deps.policyCheck(namespaces, policyYaml, record),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/policies/replay',
      auth: 'policies/get',
      isNamespaced: true,
      summary:
        'Lists recent requests that this policy would decide differently (also requires `records/get`); stores nothing',
      body: ReplayBody,
      response: ReplayReply,
      handler: async ({ principal, namespaces: given, body: { policy_id: policyId, limit, ...draft } }) => {
        // The reply contains requests of agents, so the caller also needs the right to read traffic records.
        const namespaces = await requireAdditionalRight(principal, 'records/get', {
          given,
          isNamespaced: true,
        })
        return deps.policyReplay(namespaces, { drafts: [{ ...draft, policyId }], limit })
      },
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/policies/:policy_id/versions',
      auth: 'policies/get',
      isNamespaced: true,
      summary: 'Lists the versions of a policy, newest first',
      params: PolicyVersionsParams,
      response: PolicyVersionsReply,
      handler: async ({ namespaces, params }) => deps.policyHistory(namespaces, params.policy_id),
    }),
  ]
}
