import { actionSummary } from '../../../core/connectors/summary/action-summary.ts'
import type { ApprovalCard, ApproverAnswer } from '../../../core/wire/gateway/internal.ts'
import { approvalProgress } from './progress.ts'
import type { ApprovalRow, StoredAnswer } from './store.ts'

/** Converts an approval to the card that approvers see. An overdue pending approval has the status `expired`. */
export function approvalCard(row: ApprovalRow): ApprovalCard {
  const { connector: _connector, connector_name: _name, ...facts } = row.card
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
    summary: summary?.sentence ?? null,
    object_url: summary?.url ?? null,
  }
}

function answerView({ by, approved, groups, via, note, at }: StoredAnswer): ApproverAnswer {
  return { by, approved, groups: [...groups], via, note, at }
}
