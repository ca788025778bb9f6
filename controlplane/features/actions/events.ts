import { matchedDetails, percent, requestedDetails } from '../../../core/decision/audit-details.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import type { Evaluated } from './evaluation.ts'
import type { NewAction } from './store.ts'

type Event = NewAction['events'][number]

/**
 * Returns the audit events of an action that was decided without an approval (spec 6.1), in the order in which the
 * evidence chain of the action lists them.
 */
export function decidedEvents(
  evaluated: Evaluated,
  /** Key id of the decision token; null for a denied action. */
  kid: string | null,
): readonly Event[] {
  const { decision } = evaluated
  const common = { ...matchedDetails(decision), risk_score: percent(decision.riskScore) }
  const details = { decision: kid === null ? 'deny' : 'allow', reason: decision.reason, ...common }
  const event: Event =
    kid === null
      ? { type: 'action.denied', details }
      : { type: 'action.allowed', details: { ...details, decision_token_kid: kid } }
  return [requestedEvent(evaluated), event]
}

export function pendingEvents(
  evaluated: Evaluated,
  approval: {
    readonly id: string
    readonly expiresAt: Date
    readonly requiredApproverGroups: readonly string[]
  },
): readonly Event[] {
  const { decision } = evaluated
  const details = {
    decision: 'requires_approval',
    reason: decision.reason,
    ...matchedDetails(decision),
    risk_score: percent(decision.riskScore),
    approval_id: approval.id,
    required_approver_groups: approval.requiredApproverGroups,
    expires_at: approval.expiresAt.toISOString(),
  }
  return [requestedEvent(evaluated), { type: 'action.pending_approval', details }]
}

function requestedEvent({ action, decision, environment }: Evaluated): Event {
  const details = requestedDetails(action, { environment, riskScore: decision.riskScore, sha256: sha256Hex })
  return { type: 'action.requested', details }
}
