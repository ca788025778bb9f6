import { actionSummary } from '../../../core/connectors/summary/action-summary.ts'
import { comparableNames, grantObstacle } from '../../../core/decision/permissions/grant.ts'
import { TOKEN_LIFE_S } from '../../../core/token.ts'
import type { ApprovalCard, ApproverAnswer } from '../../../core/wire/gateway/internal.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { SubmitReply } from '../../../core/wire/v1.ts'
import { approvalProgress } from './progress.ts'
import type { ApprovalRow, StoredAnswer } from './rows.ts'

/** Converts an approval to the card that approvers see. An overdue pending approval has the status `expired`. */
export function approvalCard(row: ApprovalRow): ApprovalCard {
  const { connector: _connector, connector_name: _name, held_by: _heldBy, ...more } = row.card
  const { reached_connectors: _reached, ...facts } = more
  const { answeredBy, answeredGroups } = approvalProgress(row)
  const summary = actionSummary(facts)
  return {
    ...facts,
    headers: [...(facts.headers ?? [])],
    unread_body: facts.unread_body ?? null,
    pins: [...(facts.pins ?? [])],
    id: row.id,
    kind: row.kind,
    status: row.status === 'pending' && row.isOverdue ? 'expired' : row.status,
    agent: row.agent,
    required_approver_groups: row.requiredApproverGroups,
    required_groups: row.requiredGroups.map((set, index) => ({
      ...set,
      answered_by: answeredBy[index] ?? null,
    })),
    answered_groups: answeredGroups,
    answers: row.answers.map(answerView),
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    responded_by: row.respondedBy,
    responded_via: row.via,
    note: row.note,
    left_at: row.leftAt?.toISOString() ?? null,
    withdrawable_until: withdrawableUntil(row),
    summary: summary?.sentence ?? null,
    object_url: summary?.url ?? null,
    ...(row.kind === 'hold' ? { grant: grantOf(row) } : {}),
  }
}

/**
 * Returns the time until which the approval can be used or withdrawn; null for an approval that is not approved or
 * was used.
 */
function withdrawableUntil({ kind, status, spentAt, respondedAt }: ApprovalRow): string | null {
  if (status !== 'approved' || spentAt !== null || respondedAt === null) return null
  const windowS = kind === 'hold' ? LIMITS.approvedRetryWindowS : TOKEN_LIFE_S
  return new Date(respondedAt.getTime() + windowS * 1_000).toISOString()
}

function grantOf({ card }: ApprovalRow): NonNullable<ApprovalCard['grant']> {
  return { obstacle: grantObstacle(card), parameters: [...comparableNames(card.parameters)] }
}

function answerView({ by, approved, groups, via, note, at }: StoredAnswer): ApproverAnswer {
  return { by, approved, groups: [...groups], via, note, at }
}

export function approvalView(row: ApprovalRow): NonNullable<SubmitReply['approval']> {
  const isPartial = row.status === 'pending' && row.answers.length > 0
  return {
    id: row.id,
    status: row.status === 'pending' && row.isOverdue ? 'expired' : row.status,
    required_approver_groups: row.requiredApproverGroups,
    ...(isPartial ? { answered_groups: approvalProgress(row).answeredGroups } : {}),
    expires_at: row.expiresAt.toISOString(),
  }
}
