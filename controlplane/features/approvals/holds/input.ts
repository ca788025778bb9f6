import { percent } from '../../../../core/decision/audit-details.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { HoldBody } from '../../../../core/wire/gateway/hold.ts'
import type { Instance } from '../../../../core/wire/gateway/instance.ts'
import type { RequiredGroupsView } from '../../../../core/wire/gateway/internal.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import type { Query } from '../../../db/query.ts'
import type { HeldExecutions } from '../../actions/executions/held.ts'
import { getGateway } from '../../gateways/rows.ts'
import type { ApprovalRow, CardFacts } from '../rows.ts'

/**
 * The gateway that requests a hold. `podUid`: UID of the pod of a gateway process that authenticated with a pod token.
 * The pod token names the only agent of the process, and the route has already compared this agent with the agent of
 * the hold.
 */
export type HoldOwner = {
  readonly gatewayId: string
  readonly gatewayName: string
  readonly podUid?: string | null
}

/** A hold as a gateway requests it. */
export type HoldInput = {
  readonly owner: HoldOwner
  readonly body: HoldBody
  readonly orgId: string
  /** Returns the kill switches that were already broadcast to gateways but are not stored in the database yet. */
  readonly announcedKills: () => readonly KillEntry[]
  /** Namespaces of the platform team, whose policies permit no grants. */
  readonly platformNamespaces: ReadonlySet<string>
  /**
   * Ids of the grants whose approvers were confirmed to still have the right to answer; null when no confirmation is
   * required.
   */
  readonly confirmedGrants: readonly string[] | null
  /**
   * Running executions of actions. If the held request belongs to an execution, either the approval of the action
   * releases the hold, or the hold ends the execution.
   */
  readonly executions: HeldExecutions
  readonly onEnded: ((q: Query, row: ApprovalRow) => Promise<void>) | undefined
}

/** A hold whose gateway was identified. `instance`: the agent's instance; null for a request from outside a pod. */
export type IdentifiedHold = HoldInput & { readonly instance: Instance | null }

/** Returns the facts of a held request that the approval card shows. */
export function cardFacts({ body, instance }: Pick<IdentifiedHold, 'body' | 'instance'>): CardFacts {
  const { action_type, connector, connector_name, target, method, host, path, headers, parameters } = body
  const { risk_score, risk_factors, matched_rule, requested_by_agent_text, body_sha256 } = body
  const { unread_body, pins, effects, effect, held_by, access_request, reached_connectors } = body
  return {
    action_type,
    connector,
    target,
    method,
    host,
    path,
    headers,
    parameters,
    ...(connector_name === undefined ? {} : { connector_name }),
    risk_score,
    risk_factors,
    matched_rule,
    requested_by_agent_text,
    body_sha256,
    unread_body,
    pins,
    ...(effects === undefined ? {} : { effects }),
    ...(effect === undefined ? {} : { effect }),
    ...(instance === null ? {} : { instance }),
    ...(held_by === undefined ? {} : { held_by }),
    ...(access_request === undefined ? {} : { access_request }),
    ...(reached_connectors === undefined ? {} : { reached_connectors }),
  }
}

/**
 * Returns the required sets of approver groups of a hold. A gateway of an older version sends one list of groups, which
 * becomes one set.
 */
export function requiredOf({
  required_groups,
  required_approver_groups: groups,
}: HoldBody): RequiredGroupsView[] {
  if (required_groups !== undefined) return required_groups
  return groups.length === 0 ? [] : [{ policy: '', groups, distinct: false }]
}

/** Returns the field `spec.approvals` of the Gateway. Throws `not_found` for a Gateway that does not exist. */
export async function holdLimits(q: Query, gatewayId: string) {
  const gateway = await getGateway(q, gatewayId)
  if (gateway === undefined) {
    throw new ChaperoneError('not_found', { detail: 'This gateway is no longer configured.' })
  }
  return gateway.spec.approvals
}

/** Returns the details of the audit event `action.pending_approval`. */
export function pendingDetails(row: ApprovalRow, body: HoldBody) {
  return {
    approval_id: row.id,
    action_type: body.action_type,
    decision: 'requires_approval',
    matched_rule: body.matched_rule,
    required_approver_groups: row.requiredApproverGroups,
    risk_score: percent(body.risk_score),
    method: body.method,
    host: body.host,
    path: body.path,
    expires_at: row.expiresAt.toISOString(),
    ...accessDetails(body),
  }
}

/**
 * Returns the detail that marks the audit events of an access request, by which an agent asks for a permission. Returns
 * no detail for a held request.
 */
export function accessDetails({ access_request }: HoldBody): { readonly access_request?: true } {
  return access_request === true ? { access_request } : {}
}
