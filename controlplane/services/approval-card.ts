import type { ApprovalCard } from '../../core/wire/internal.ts'
import type { ApprovalRow } from '../store/approvals.ts'

/** What a person sees before answering. A pending approval whose time is over shows as expired at once. */
export function approvalCard(row: ApprovalRow): ApprovalCard {
  const { connector: _connector, ...facts } = row.card
  return {
    ...facts,
    id: row.id,
    kind: row.kind,
    status: row.status === 'pending' && row.isOverdue ? 'expired' : row.status,
    agent: row.agent,
    required_approver_groups: row.requiredApproverGroups,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    responded_by: row.respondedBy,
    responded_via: row.via,
    note: row.note,
  }
}
