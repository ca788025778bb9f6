import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { hasDisconnected } from '../card/has-disconnected.ts'

/** Risk score from which a request cannot be answered together with others, but only on its own card. */
const CARD_RISK = 0.5

/**
 * Reports whether one answer may approve this request together with others. An approver who answers a row has not
 * read the whole request, so the action must have a low risk and no effect class. A card without a list of effect
 * classes is for an action that is not in the catalogue. The effects of such an action are unknown.
 */
export function isApprovedTogether(card: ApprovalCard): boolean {
  return (
    card.risk_score < CARD_RISK &&
    card.effects?.length === 0 &&
    card.unread_body === null &&
    card.access_request !== true &&
    card.required_groups.length <= 1 &&
    !hasDisconnected(card)
  )
}
