import { percent, statedDetails } from '../../../../core/decision/audit-details.ts'
import { grantObstacle, orderedHeldBy, queryOf } from '../../../../core/decision/permissions/grant.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { Query } from '../../../db/query.ts'
import { agentActor } from '../../audit/actor.ts'
import { recordEvents } from '../../audit/events.ts'
import { cardFacts, type IdentifiedHold } from '../holds/input.ts'
import type { ApprovalRow } from '../rows.ts'
import { insertApprovedHold } from '../store.ts'
import { holdingPolicies } from './grants.ts'
import { detailsOf } from './make-grant.ts'
import { type GrantKey, type GrantRow, takeGrant } from './store.ts'

/**
 * Returns the properties of a hold that a covering grant must have. Returns undefined for a hold that no
 * grant can release.
 */
export function grantKey({
  body,
  owner,
  instance,
}: Pick<IdentifiedHold, 'body' | 'owner' | 'instance'>): GrantKey | undefined {
  if (body.access_request === true || body.held_by === undefined || grantObstacle(body) !== null)
    return undefined
  return {
    gatewayId: owner.gatewayId,
    agent: body.agent,
    claimUid: instance?.claim_uid ?? null,
    actionType: body.action_type,
    connectorName: body.connector_name ?? null,
    target: body.target,
    parameters: body.parameters,
    query: queryOf(body.path),
    heldBy: orderedHeldBy(body.held_by),
  }
}

/**
 * Approves a hold by a grant. Returns undefined if no grant covers the request. Before the call, the caller must
 * refuse requests under a kill switch and requests of agents of other Gateways.
 */
export async function releaseByGrant(
  q: Query,
  input: IdentifiedHold,
  binding: string,
): Promise<ApprovalRow | undefined> {
  const { body, owner, orgId, confirmedGrants } = input
  const key = grantKey(input)
  if (key === undefined || confirmedGrants?.length === 0) return undefined
  if ((await holdingPolicies(q, key.heldBy, input.platformNamespaces)).obstacle !== null) return undefined
  const grant = await takeGrant(q, key, confirmedGrants)
  if (grant === undefined) return undefined
  const row = await insertApprovedHold(q, {
    orgId,
    binding,
    gatewayId: owner.gatewayId,
    agent: body.agent,
    actId: body.act_id,
    card: cardFacts(input),
    by: grant.createdBy,
    via: 'grant',
    grantId: grant.id,
    answers: grant.answers,
    note: `Grant ${grant.id}, use ${grant.uses} of ${grant.maxUses}`,
  })
  await recordEvents(q, releaseEvents(row, input, grant))
  return row
}

function releaseEvents(row: ApprovalRow, { body, owner, orgId }: IdentifiedHold, grant: GrantRow) {
  const actor = agentActor(row.agentId, `gateway:${owner.gatewayName}`)
  const common = { orgId, actor, actionRequestId: body.act_id }
  const requested = {
    action_type: body.action_type,
    resource: { provider: body.connector, target: body.target, environment: body.environment ?? null },
    ...statedDetails('parameters', body.parameters, sha256Hex),
    risk_score: percent(body.risk_score),
    ...statedDetails('risk_hints', body.risk_hints ?? {}, sha256Hex),
  }
  const used = { ...detailsOf(grant), hold_id: row.id, matched_rule: body.matched_rule }
  return [
    { ...common, type: 'action.requested' as const, details: requested },
    { ...common, type: 'grant.used' as const, details: used },
  ]
}
