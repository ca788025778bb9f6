import {
  comparableNames,
  comparedValues,
  grantObstacle,
  orderedHeldBy,
  queryOf,
} from '../../../../core/decision/permissions/grant.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import type { HeldBy } from '../../../../core/wire/gateway/hold.ts'
import type { GrantRequest } from '../../../../core/wire/grants.ts'
import type { Query } from '../../../db/query.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import type { ApprovalRow } from '../rows.ts'
import { holdingPolicies } from './grants.ts'
import { type GrantRow, insertGrant } from './store.ts'

/** A grant that an answer requests. `mayWritePermissions`: whether the user has the right to write permissions. */
export type GrantOfAnswer = { readonly request: GrantRequest; readonly mayWritePermissions: boolean }

export type MakeGrant = {
  /** The approval. Its last answer is the answer that requests the grant. */
  readonly row: ApprovalRow
  readonly grant: GrantOfAnswer
  readonly orgId: string
  readonly by: string
  readonly actor: Actor
  readonly platformNamespaces: ReadonlySet<string>
}

/**
 * Stores a grant in the transaction of the answer that requests it. Throws `conflict` if no grant can cover the
 * request, `forbidden` for a user who may not make a grant, and `validation` for parameters that the request does not
 * have.
 */
export async function makeGrant(q: Query, given: MakeGrant): Promise<GrantRow> {
  const { row, grant, orgId, by, actor } = given
  const { card, gatewayId, agentId } = row
  if (gatewayId === null || agentId === null)
    throw refused(
      `Agent ${row.agent} or its gateway no longer exists, so no grant can be made. Answer without a grant.`,
    )
  const held = coverable(row, grant.request)
  const { allowsGrants, obstacle } = await holdingPolicies(q, held, given.platformNamespaces)
  if (obstacle !== null) throw refused(obstacle)
  if (!grant.mayWritePermissions && !allowsGrants) throw notPermitted()
  const answer = row.answers.at(-1)
  if (answer === undefined || answer.sets.length < row.requiredGroups.length) throw notInEveryGroup()
  const { request } = grant
  const { values, isExact, query } = valuesOf(row, request)
  const stored = await insertGrant(q, {
    orgId,
    gatewayId,
    agentId,
    createdBy: by,
    answers: [answer],
    parameters: values,
    approvalId: row.id,
    agent: row.agent,
    claimUid: card.instance?.claim_uid ?? null,
    actionType: card.action_type,
    connectorName: card.connector_name ?? null,
    anyTarget: request.target === 'any',
    target: card.target,
    isExact,
    query,
    heldBy: orderedHeldBy(held),
    maxUses: request.max_uses,
    duration: request.duration,
  })
  await recordEvent(q, {
    orgId,
    actor,
    agentId,
    actionRequestId: row.actId,
    type: 'grant.created',
    details: detailsOf(stored),
  })
  return stored
}

/** Returns the rules that hold the request. Throws `conflict` if the requested grant cannot cover the request. */
function coverable({ kind, card }: ApprovalRow, { target }: GrantRequest): HeldBy {
  const obstacle =
    kind === 'hold'
      ? grantObstacle(card)
      : 'This action was submitted to the API, and a grant covers only requests through a gateway. Answer without a grant.'
  if (obstacle !== null || card.held_by === undefined)
    throw refused(
      obstacle ??
        'No rule is known to hold this request, so a grant would cover nothing. Answer without a grant.',
    )
  if (card.access_request === true && card.target === null && target === 'same') throw refused(NO_TARGET)
  return card.held_by
}

/**
 * Returns the parameters and the query that later requests must have. Throws `validation` for parameters that the
 * request does not have, and `conflict` for values that cannot be compared.
 */
function valuesOf({ card }: ApprovalRow, { parameters }: GrantRequest) {
  const { missing, incomparable, ...compared } = comparedValues(card, parameters)
  if (missing.length > 0) throw notComparable(missing, comparableNames(card.parameters))
  if (incomparable.length > 0) throw notExact(incomparable)
  return { ...compared, query: compared.isExact ? queryOf(card.path) : null }
}

/** Returns the details of a grant for the audit log. */
export function detailsOf(grant: GrantRow): Readonly<Record<string, unknown>> {
  return {
    grant_id: grant.id,
    approval_id: grant.approvalId,
    action_type: grant.actionType,
    target: grant.anyTarget ? '*' : grant.target,
    parameter_names: Object.keys(grant.parameters),
    exact: grant.isExact,
    rules: grant.heldBy.policies.map(({ rule }) => rule),
    uses: grant.uses,
    max_uses: grant.maxUses,
    expires_at: grant.expiresAt.toISOString(),
    created_by: grant.createdBy,
  }
}

const NO_TARGET =
  'The agent asked for access without a target, so a grant for the same target would cover no request. Grant any target (`--any-target`, field `grant.target`: `any`), or deny, so that the agent can ask again with a target.'

function refused(detail: string): ChaperoneError {
  return new ChaperoneError('conflict', { error: 'No grant possible', detail })
}

function notPermitted(): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail:
      'A grant needs the right to write permissions (role admin), or a policy with `grants: allowed`. Answer without a grant, or ask an admin.',
  })
}

function notInEveryGroup(): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail:
      'You cannot make a grant, because you are not in the approver groups of every policy that holds this request. Answer without a grant, or leave the grant to a user who is in all of these groups.',
  })
}

function notComparable(names: readonly string[], comparable: readonly string[]): ChaperoneError {
  const has = comparable.length === 0 ? 'It has none' : `It has ${comparable.join(', ')}`
  return new ChaperoneError('validation', {
    detail: `grant.parameters: the request has no parameter ${names.join(', ')} that a grant can compare. ${has}.`,
  })
}

function notExact(names: readonly string[]): ChaperoneError {
  return refused(
    `A grant for all parameters covers only equal requests, and values of ${names.join(', ')} cannot be compared. Leave out at least one parameter, so that the others may have any value, or answer without a grant.`,
  )
}
