import type { Action } from '../action/action.ts'
import { HIGH_RISK_SCORE, scoreRisk } from '../action/risk.ts'

/** Actions that a gateway denies while the control plane is unreachable. Each step denies more than the one before. */
export type LeaseStep = 'ok' | 'high_risk' | 'writes' | 'everything'

/** `failurePolicy` of a Gateway: seconds after the loss of the stream at which each step begins. */
export type FailurePolicy = {
  readonly highRiskAfterSeconds: number
  readonly writesAfterSeconds: number
  readonly everythingAfterSeconds: number
}

/**
 * Returns the step after `lostForMs` without the control plane; null means connected. If several steps are due, the
 * most severe one applies.
 */
export function leaseStep(lostForMs: number | null, policy: FailurePolicy): LeaseStep {
  if (lostForMs === null) return 'ok'
  if (lostForMs >= policy.everythingAfterSeconds * 1_000) return 'everything'
  if (lostForMs >= policy.writesAfterSeconds * 1_000) return 'writes'
  return lostForMs >= policy.highRiskAfterSeconds * 1_000 ? 'high_risk' : 'ok'
}

/**
 * True if the step denies the action: `high_risk` denies high-risk and unmapped actions and everything that needs an
 * approval, `writes` also all writes (by the catalogue's effect, not by HTTP method), `everything` all actions.
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
