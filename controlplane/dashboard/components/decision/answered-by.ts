import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'

/**
 * Returns the name of the approver as recorded; null while the approval is pending. Marks a name from the internal API,
 * which does not verify names.
 */
export function answeredBy(card: Pick<ApprovalCard, 'responded_by' | 'responded_via'>): string | null {
  if (card.responded_by === null || card.responded_via !== 'internal') return card.responded_by
  return `${card.responded_by} (name not verified, because the answer came through the internal API)`
}
