import type { ApprovalCard } from '../../../../core/wire/internal.ts'

/** The name under which an approval was answered; null while nobody has. A name from the internal API is only a claim. */
export function answeredBy(card: Pick<ApprovalCard, 'responded_by' | 'responded_via'>): string | null {
  if (card.responded_by === null || card.responded_via !== 'internal') return card.responded_by
  return `${card.responded_by} (claimed through the internal API)`
}
