import { ChaperoneError } from '../../../../core/errors.ts'
import type { Query } from '../../../db/query.ts'
import { cancelApproval } from '../../approvals/service.ts'
import { recordEvent } from '../../audit/events.ts'
import { assertMovable, type OwnAction, ownAction } from '../executions/action-of-agent.ts'
import { type ActionRow, getAction } from '../rows.ts'
import { moveAction } from '../store.ts'
import type { SubmissionDeps } from '../submission/service.ts'
import { spendNonces } from '../tokens/nonce-store.ts'

/**
 * Creates the function that cancels an action. An execution, a token verification and an answer each consume the
 * approval of the action or the nonce of its decision token. The cancellation also consumes the approval or the nonce
 * before it moves the action, so that only one of several concurrent transactions succeeds.
 */
export function createCancel({
  db,
  notify,
}: Pick<SubmissionDeps, 'db' | 'notify'>): (own: OwnAction) => Promise<void> {
  return (own) =>
    db.tx(async (q) => {
      const row = await ownAction(() => getAction(q, own.id), own)
      assertMovable(row, 'cancel')
      const isTaken = row.status === 'allowed' ? await takeNonce(q, row) : await takeApproval(q, row)
      const from = row.status
      if (!isTaken || !(await moveAction(q, row.id, { from, to: 'cancelled' }))) throw await tooLate(q, row)
      await recordEvent(q, {
        orgId: row.orgId,
        type: 'action.cancelled',
        actor: { kind: 'agent', agentId: row.agentId, label: row.agent },
        actionRequestId: row.id,
        details: { action_type: row.spec.type, previous_status: from },
      })
      if (row.webhook !== null) await notify(q, { ...row, status: 'cancelled' }, 'action.cancelled')
    })
}

/**
 * Consumes the nonce of the decision token and returns whether the cancellation may proceed. An expired token does not
 * prevent the cancellation. A used token does, because the action is being executed or has been executed.
 */
async function takeNonce(q: Query, { jti, id }: ActionRow): Promise<boolean> {
  if (jti === null) return true
  const outcomes = await spendNonces(q, [{ jti, actId: id, usedBy: 'cancel' }])
  return outcomes.get(jti) !== 'used'
}

async function takeApproval(q: Query, { approvalId, agent }: ActionRow): Promise<boolean> {
  return approvalId === null || cancelApproval(q, approvalId, agent)
}

/** Returns the error of a cancellation that lost the race against an answer, an execution or a verification. */
async function tooLate(q: Query, row: ActionRow): Promise<Error> {
  const now = await getAction(q, row.id)
  if (now !== undefined) assertMovable(now, 'cancel')
  return new ChaperoneError('conflict', {
    error: 'Too late to cancel',
    detail:
      row.status === 'allowed'
        ? 'The decision token was used, so the action is in progress or completed and cannot be cancelled.'
        : 'The approval has ended in the meantime, so nothing was cancelled. Read the action request again to see its state.',
  })
}
