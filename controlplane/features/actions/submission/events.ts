import { matchedDetails, percent, requestedDetails } from '../../../../core/decision/audit-details.ts'
import type { AuditEventType } from '../../../../core/wire/audit.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { Actor } from '../../audit/actor.ts'
import { type AuditEvent, storedEvent } from '../../audit/events.ts'
import type { NewAction } from '../store.ts'
import type { Evaluated } from './evaluation.ts'

type Event = NewAction['events'][number]
type Subject = Pick<NewAction, 'id' | 'orgId' | 'agentId' | 'agent'>

/**
 * Returns the audit events of an action that was decided without an approval (spec 6.1), in their order in the audit
 * log.
 */
export function decidedEvents(
  of: Subject,
  evaluated: Evaluated,
  /** Key id of the decision token; null for a denied action. */
  kid: string | null,
): readonly Event[] {
  const { decision } = evaluated
  const common = { ...matchedDetails(decision), risk_score: percent(decision.riskScore) }
  const details = { decision: kid === null ? 'deny' : 'allow', reason: decision.reason, ...common }
  const event =
    kid === null
      ? eventOf(of, 'action.denied', details)
      : eventOf(of, 'action.allowed', { ...details, decision_token_kid: kid })
  return [requestedEvent(of, evaluated), event]
}

export function pendingEvents(
  of: Subject,
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
  return [requestedEvent(of, evaluated), eventOf(of, 'action.pending_approval', details)]
}

function requestedEvent(of: Subject, { action, decision, environment }: Evaluated): Event {
  const details = requestedDetails(action, { environment, riskScore: decision.riskScore, sha256: sha256Hex })
  return eventOf(of, 'action.requested', details)
}

function eventOf(
  { id, orgId, agentId, agent }: Subject,
  type: AuditEventType,
  details: AuditEvent['details'],
): Event {
  const actor: Actor = { kind: 'agent', agentId, label: agent }
  return storedEvent({ orgId, type, actor, actionRequestId: id, details })
}
