import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { covers, type Namespaces } from '../../../../core/wire/access/rights.ts'
import type { ApprovalStatus } from '../../../../core/wire/gateway/internal.ts'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import type { Query } from '../../../db/query.ts'
import type { CancelApprovedAction } from '../../actions/cancellation/service.ts'
import type { Actor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { outdateCard } from '../../chat/card/nonce.ts'
import { cancelApprovals } from '../cancellation/store.ts'
import { endGrant } from '../grants/end-grant.ts'
import { findGrantIdsOf } from '../grants/store.ts'
import type { ApprovalRow } from '../rows.ts'
import { lockApproval } from '../store.ts'
import { dropVoidAnswers, isUnused } from './store.ts'

export type Withdrawal = {
  readonly id: string
  /** Namespaces of the agents whose approvals the user may answer. */
  readonly namespaces: Namespaces
  /** Id of the user's account; null for a token that identifies no user. */
  readonly userId: string | null
  readonly by: string
  readonly via: string
  readonly actor: Actor
}

export type WithdrawalDeps = {
  readonly orgId: string
  readonly cancelAction?: CancelApprovedAction | undefined
}

/**
 * Withdraws an approval that no gateway has used yet: cancels the approval and revokes the grant that its answer
 * made. While other groups must still answer, withdraws only the user's own answer, and the approval stays pending.
 * Every user who may answer may withdraw, because a withdrawal only reduces what the agent may do. Throws
 * `not_found`, and `conflict` if the approval can no longer be withdrawn.
 */
export async function withdraw(
  q: Query,
  { orgId, cancelAction }: WithdrawalDeps,
  given: Withdrawal,
): Promise<ApprovalStatus> {
  const row = await lockApproval(q, given.id)
  if (row === undefined || !covers(given.namespaces, namespaceOf(row.agent) || null)) throw notFound(given.id)
  if (row.status === 'pending' && !row.isOverdue) await withdrawAnswer(q, row, given)
  else if (row.status !== 'approved') throw nothingToWithdraw(row)
  else if (!(await isWithdrawable(q, row, { cancelAction }))) throw tooLate(row)
  else await cancel(q, row, { orgId, given })
  const status = row.status === 'approved' ? 'cancelled' : row.status
  await recordEvent(q, {
    orgId,
    actor: given.actor,
    agentId: row.agentId,
    actionRequestId: row.actId,
    type: 'approval.withdrawn',
    details: { ...detailsOf(row, given), approval_status: status },
  })
  return status
}

function detailsOf({ id, card, respondedBy }: ApprovalRow, { by, via }: Withdrawal) {
  const answered = respondedBy === null ? {} : { responded_by: respondedBy }
  return { approval_id: id, action_type: card.action_type, ...answered, withdrawn_by: by, via }
}

/** Removes the user's own answer from an approval that further groups must answer. */
async function withdrawAnswer(q: Query, row: ApprovalRow, { userId }: Withdrawal): Promise<void> {
  if (userId === null || !row.answers.some((answer) => answer.user_id === userId))
    throw nothingToWithdraw(row)
  await dropVoidAnswers(q, row, [userId])
  await outdateCard(q, row.id)
}

/** Reports whether the approval is unused. For an unused approval of the kind `action`, also cancels the action. */
async function isWithdrawable(
  q: Query,
  { id, kind, actId }: ApprovalRow,
  { cancelAction }: Pick<WithdrawalDeps, 'cancelAction'>,
): Promise<boolean> {
  if (kind === 'hold') return isUnused(q, id, LIMITS.approvedRetryWindowS)
  return actId !== null && cancelAction !== undefined && (await cancelAction(q, actId))
}

async function cancel(
  q: Query,
  row: ApprovalRow,
  { orgId, given }: { readonly orgId: string; readonly given: Withdrawal },
): Promise<void> {
  const { by, via, actor } = given
  const note = `${by} withdrew the approval.`
  for (const id of await findGrantIdsOf(q, row.id)) await endGrant(q, { id, orgId, by, actor })
  await cancelApprovals(q, [row.id], { by, via, note })
  if (row.kind === 'hold') return
  await recordEvent(q, {
    orgId,
    actor,
    agentId: row.agentId,
    actionRequestId: row.actId,
    type: 'action.cancelled',
    details: {
      action_type: row.card.action_type,
      previous_status: 'allowed',
      approval_id: row.id,
      reason: note,
      cancelled_by: by,
    },
  })
}

function nothingToWithdraw({ id, status, isOverdue }: ApprovalRow): ChaperoneError {
  const detail =
    status === 'pending' && !isOverdue
      ? `You have not answered ${id}, so there is nothing to withdraw. Deny it to refuse the request.`
      : `${id} is ${isOverdue && status === 'pending' ? 'expired' : status}. Only an answer that approved the request can be withdrawn.`
  return new ChaperoneError('conflict', { error: 'Nothing to withdraw', detail })
}

function tooLate({ id }: ApprovalRow): ChaperoneError {
  return new ChaperoneError('conflict', {
    error: 'Too late to withdraw',
    detail: `The approval ${id} was used or has lapsed. Activate a kill switch to stop the agent.`,
  })
}

function notFound(id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    error: 'Approval not found',
    detail: `There is no approval ${id}. List the approvals to find its id.`,
  })
}
