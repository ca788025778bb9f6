import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'
import { hasDisconnected } from '../card/has-disconnected.ts'

/** Risk score from which an approver answers each request on its own card. */
const CARD_RISK = 0.5

/**
 * Reports whether one answer may approve this request together with others. An approver who answers a row has not read the
 * whole request, so the action must have a low risk and, as far as known, no effect class. A card without the list of effect classes is one
 * of an action that is not in the catalogue.
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
