import * as z from 'zod'
import { PolicySpec } from '../../../core/crd/schemas.ts'
import { PolicyCheckReply, PolicyVersionsReply, ReplayReply } from '../../../core/wire/governance.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import { requireAdditionalRight } from '../../http/auth/rights.ts'
import { Id, PolicyName, PolicyText } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { PolicyCheck } from './check.ts'
import type { PolicyHistory } from './history.ts'
import type { PolicyReplay } from './replay.ts'

export type PolicyDeskRoutesDeps = {
  readonly policyCheck: PolicyCheck
  readonly policyReplay: PolicyReplay
  readonly policyHistory: PolicyHistory
}

const Priority = PolicySpec.shape.priority.unwrap()
const Mode = PolicySpec.shape.mode.unwrap()

/** The record beside the text: what the text repeats must agree with it. */
const CheckBody = z.strictObject({
  policyYaml: PolicyText,
  name: PolicyName.optional(),
  enabled: z.boolean().optional(),
  priority: Priority.optional(),
  tags: PolicySpec.shape.tags.unwrap().optional(),
  mode: Mode.optional(),
  /** Of its manifest: where RBAC is asked about its approver groups. */
  namespace: z.string().max(63).optional(),
})

const ReplayBody = z.strictObject({
  policyYaml: PolicyText,
  policy_id: Id.optional(),
  enabled: z.boolean().default(true),
  priority: Priority.default(100),
  mode: Mode.default('enforce'),
  limit: z.int().min(1).max(LIMITS.listMax).default(200),
})

/** What an editor of policies asks while nothing is saved. */
export function createPolicyDeskRoutes(deps: PolicyDeskRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/dashboard/policies/check',
      auth: 'policies/get',
      isNamespaced: true,
      summary: 'What is wrong with the text of a policy, by line, and how its tests go; nothing is stored',
      body: CheckBody,
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
        'Which recent requests would be decided otherwise with this policy (requires `records/get` as well); nothing is stored',
      body: ReplayBody,
      response: ReplayReply,
      handler: async ({ principal, namespaces: given, body: { policy_id: policyId, limit, ...draft } }) => {
        // Its answer is made of requests of agents.
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
      summary: 'The texts that a policy had, newest first',
      params: z.object({ policy_id: Id }),
      response: PolicyVersionsReply,
      handler: async ({ namespaces, params }) => deps.policyHistory(namespaces, params.policy_id),
    }),
  ]
}
