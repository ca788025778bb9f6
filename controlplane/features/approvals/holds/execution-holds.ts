import { ChaperoneError } from '../../../../core/errors.ts'
import type { HoldReply } from '../../../../core/wire/gateway/hold.ts'
import type { RequiredGroupsView } from '../../../../core/wire/gateway/internal.ts'
import type { DecisionView } from '../../../../core/wire/v1.ts'
import type { Query } from '../../../db/query.ts'
import type { RunningExecution } from '../../actions/executions/store.ts'
import { getAction } from '../../actions/rows.ts'
import { agentActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { approvalCard } from '../card.ts'
import { type ApprovalRow, getUsableApproval } from '../rows.ts'
import { insertApproval, insertApprovedHold } from '../store.ts'
import {
  cardFacts,
  type HoldInput,
  holdLimits,
  type IdentifiedHold,
  pendingDetails,
  requiredOf,
} from './input.ts'

/**
 * Replies to the hold of a request that belongs to the execution of an action; returns undefined for every other
 * request. An allowed action releases one hold of one execution. When no user has allowed the action, or its release is
 * used, the function opens an approval, and the gateway refuses the request immediately. The decision token of the
 * action is then invalid until a user allows the approval, which renews the token.
 */
export async function holdOfExecution(
  q: Query,
  input: IdentifiedHold,
  binding: string,
): Promise<HoldReply | undefined> {
  const { owner, body, executions } = input
  const key = {
    agent: body.agent,
    actId: body.act_id,
    gatewayId: owner.gatewayId,
    requestFingerprint: body.request_fingerprint ?? null,
  }
  const execution = await executions.find(q, key)
  if (execution === undefined) return undefined
  const approval = await releasingApproval(q, execution, { ...input, binding })
  if (approval === null)
    return { outcome: 'deferred', approval: approvalCard(await defer(q, input, { execution, binding })) }
  await executions.release(q, execution)
  const released = await insertApprovedHold(q, {
    orgId: input.orgId,
    binding,
    gatewayId: owner.gatewayId,
    agent: body.agent,
    actId: body.act_id,
    card: cardFacts(input),
    by: `${approval.respondedBy} (${approval.id} of ${execution.actId})`,
  })
  return { outcome: 'approved', approval: approvalCard(released) }
}

/**
 * Returns the approval of the action if the approval covers this hold and its approvers still have the right to answer.
 * An approval that was opened by a hold of an earlier execution covers only the same request under the same rules. An
 * approval that was opened when the action was submitted covers every hold that requires no additional groups.
 */
async function releasingApproval(
  q: Query,
  { actId, approvalId, isReleased }: RunningExecution,
  { owner, body, binding }: HoldInput & { readonly binding: string },
): Promise<ApprovalRow | null> {
  const row = approvalId === null || isReleased ? undefined : await getUsableApproval(q, approvalId)
  if (row === undefined || row.actId !== actId) return null
  const isSame = row.gatewayId === owner.gatewayId && row.binding === binding
  const covers = row.gatewayId === null ? coversGroups(row.requiredGroups, requiredOf(body)) : isSame
  return covers ? row : null
}

function coversGroups(
  answered: readonly RequiredGroupsView[],
  wanted: readonly RequiredGroupsView[],
): boolean {
  const known = new Set(answered.map(setText))
  return wanted.every((set) => known.has(setText(set)))
}

function setText({ policy, groups, distinct }: RequiredGroupsView): string {
  return JSON.stringify([policy, [...groups].sort(), distinct])
}

type Deferral = { readonly execution: RunningExecution; readonly binding: string }

async function defer(
  q: Query,
  input: IdentifiedHold,
  { execution, binding }: Deferral,
): Promise<ApprovalRow> {
  const { owner, body, orgId } = input
  const { actId } = execution
  const action = await getAction(q, actId)
  const approval = await insertApproval(q, {
    orgId,
    kind: 'action',
    gatewayId: owner.gatewayId,
    agent: body.agent,
    actId,
    binding,
    card: { ...cardFacts(input), requested_by_agent_text: action?.spec.context?.reason ?? null },
    requiredGroups: requiredOf(body),
    timeoutS: (await holdLimits(q, owner.gatewayId)).timeoutSeconds,
  })
  const decision = heldDecision(input)
  if (!(await input.executions.defer(q, execution, { approvalId: approval.id, decision }))) {
    throw new ChaperoneError('conflict', {
      detail: `The action ${actId} is no longer allowed, so no approval is opened. Submit the action again.`,
    })
  }
  await recordEvent(q, {
    orgId,
    actor: agentActor(approval.agentId, `gateway:${owner.gatewayName}`),
    actionRequestId: actId,
    type: 'action.pending_approval',
    details: pendingDetails(approval, body),
  })
  return approval
}

function heldDecision({ owner, body }: HoldInput): DecisionView {
  const rule = body.matched_rule === null ? '' : ` (${body.matched_rule})`
  return {
    outcome: 'requires_approval',
    reason: `The gateway ${owner.gatewayName} requires approval for ${body.action_type}${rule}.`,
    matched_policies: [],
    risk_score: body.risk_score,
    constraints: null,
  }
}
