import type { ActionSpec } from '../../core/action/spec.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { NewAction } from '../store/actions.ts'
import { type Evaluated, policyId } from './action-evaluation.ts'
import { saidDetails } from './audit-details.ts'

type Event = NewAction['events'][number]

/** Audit events of an action that was decided on the spot (spec 6.1), in the order of the evidence chain. */
export function decidedEvents(
  evaluated: Evaluated,
  spec: ActionSpec,
  /** The key that signs its token; null when it is denied. */
  kid: string | null,
): readonly Event[] {
  const { decision } = evaluated
  const common = { ...matched(decision), risk_score: percent(decision.riskScore) }
  const details = { decision: kid === null ? 'deny' : 'allow', reason: decision.reason, ...common }
  const event: Event =
    kid === null
      ? { type: 'action.denied', details }
      : { type: 'action.allowed', details: { ...details, decision_token_kid: kid } }
  return [requestedEvent(evaluated, spec), event]
}

export function pendingEvents(
  evaluated: Evaluated,
  spec: ActionSpec,
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
    ...matched(decision),
    risk_score: percent(decision.riskScore),
    approval_id: approval.id,
    required_approver_groups: approval.requiredApproverGroups,
    expires_at: approval.expiresAt.toISOString(),
  }
  return [requestedEvent(evaluated, spec), { type: 'action.pending_approval', details }]
}

function requestedEvent({ action, decision }: Evaluated, spec: ActionSpec): Event {
  const { provider, target, environment } = action.resource
  return {
    type: 'action.requested',
    details: {
      action_type: action.type,
      resource: { provider, target: target ?? null, environment: environment ?? null },
      ...saidDetails('parameters', action.parameters),
      risk_score: percent(decision.riskScore),
      ...saidDetails('risk_hints', spec.risk_hints ?? {}),
    },
  }
}

/** The policy that decided and its rule; the permission's pattern where no policy had a say. */
export function matched(decision: Decision) {
  const [first] = decision.policies
  if (decision.source === 'kill') return { matched_policy: null, matched_rule: null }
  if (first === undefined) return { matched_policy: null, matched_rule: decision.permissionPattern }
  const id = policyId(first)
  const rule = decision.rules.find((one) => one.policyId === id)
  return { matched_policy: id, matched_rule: rule?.rule ?? null }
}

/** Audit details tell risk as an integer (spec 2.3). */
function percent(score: number): number {
  return Math.round(score * 100)
}
