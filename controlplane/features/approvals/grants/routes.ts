import { ChaperoneError } from '../../../../core/errors.ts'
import { GrantList, type GrantView, RevokeGrantQuery } from '../../../../core/wire/grants.ts'
import { GrantObjects } from '../../../../core/wire/operator/grants.ts'
import { OPERATOR_PATHS } from '../../../../core/wire/operator/operator.ts'
import { Ok } from '../../../../core/wire/schema/fields.ts'
import { type Route, route } from '../../../http/route.ts'
import { actorOf } from '../../audit/actor.ts'
import type { Approvals } from '../service.ts'
import type { GrantRow } from './store.ts'

/**
 * Returns the routes of grants. Approvers may see and revoke grants, because a revocation only reduces what agents may
 * do.
 */
export function createGrantRoutes({ approvals }: { readonly approvals: Approvals }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/grants',
      auth: 'approvals/get',
      isNamespaced: true,
      summary:
        'Lists grants, newest first. A grant is the answer of an approver that also approves later requests',
      response: GrantList,
      handler: async ({ namespaces }) => ({ grants: (await approvals.grants(namespaces)).map(grantView) }),
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/grants',
      auth: 'approvals/answer',
      isNamespaced: true,
      summary: 'Revokes a grant; 409 when it is revoked already',
      query: RevokeGrantQuery,
      statuses: [404, 409],
      response: Ok,
      handler: async ({ namespaces, query, principal }) => {
        if (principal.kind !== 'user')
          throw new ChaperoneError('forbidden', { detail: 'This request requires a user.' })
        const actor = actorOf(principal)
        await approvals.revokeGrant(namespaces, { id: query.grant_id, by: principal.email, actor })
        return { ok: true as const }
      },
    }),
    route({
      method: 'GET',
      path: OPERATOR_PATHS.grants,
      auth: 'operator',
      summary:
        'Lists the grants in force at Gateways of the cluster, each as the Permission object that shows it in the cluster',
      response: GrantObjects,
      handler: async () => ({ grants: [...(await approvals.grantObjects())] }),
    }),
  ]
}

function grantView(row: GrantRow): GrantView {
  return {
    id: row.id,
    approval_id: row.approvalId,
    gateway_name: row.gateway,
    agent: row.agent,
    action_type: row.actionType,
    connector_name: row.connectorName,
    target: row.target,
    any_target: row.anyTarget,
    parameters: row.parameters,
    exact: row.isExact,
    rules: row.heldBy.policies.map(({ rule }) => rule),
    max_uses: row.maxUses,
    uses: row.uses,
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    revoked_at: row.revokedAt?.toISOString() ?? null,
    revoked_by: row.revokedBy,
    status: row.status,
  }
}
