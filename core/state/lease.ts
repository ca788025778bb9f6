import type { Action } from '../action/action.ts'
import { HIGH_RISK_SCORE, scoreRisk } from '../action/risk.ts'

/** Step of denials while the control plane is unreachable. Each step denies more actions than the one before. */
export type LeaseStep = 'ok' | 'high_risk' | 'writes' | 'everything'

/** Field `failurePolicy` of a Gateway: seconds from the loss of the stream to the beginning of each step. */
export type FailurePolicy = {
  readonly highRiskAfterSeconds: number
  readonly writesAfterSeconds: number
  readonly everythingAfterSeconds: number
}

/**
 * Returns the step after `lostForMs` milliseconds without the control plane; `lostForMs` is null while the gateway is
 * connected. If several steps are due, the strictest one applies.
 */
export function leaseStep(lostForMs: number | null, policy: FailurePolicy): LeaseStep {
  if (lostForMs === null) return 'ok'
  if (lostForMs >= policy.everythingAfterSeconds * 1_000) return 'everything'
  if (lostForMs >= policy.writesAfterSeconds * 1_000) return 'writes'
  return lostForMs >= policy.highRiskAfterSeconds * 1_000 ? 'high_risk' : 'ok'
}

/**
 * Reports whether the step denies the action. `high_risk` denies high-risk actions, actions without a catalogue row,
 * and everything that needs an approval. `writes` also denies all writes, by the effect in the catalogue and not by
 * HTTP method. `everything` denies all actions.
 */
export function leaseForbids(step: LeaseStep, action: Action, needsHold: boolean): boolean {
  switch (step) {
    case 'ok':
      return false
    case 'high_risk':
      return needsHold || isDangerous(action)
    case 'writes':
      return needsHold || isDangerous(action) || action.effect === 'write'
    default:
      return true
  }
}

function isDangerous(action: Action): boolean {
  return action.unmapped === true || action.risk === 'high' || scoreRisk(action).score >= HIGH_RISK_SCORE
}
