import type { Action } from '../action/action.ts'
import { HIGH_RISK_SCORE } from '../action/risk.ts'
import type { EnforcementLevel } from './decision.ts'
import type { Verdict } from './vocabulary.ts'

/** Facts about an action and its decision that an enforcement level takes into account. */
export type LevelInput = {
  readonly would: Verdict
  readonly action: Action
  readonly riskScore: number
  /** True if a policy gives the decision `would`. False if only a permission or the default gives it. */
  readonly isByPolicy: boolean
}

/**
 * Applies an enforcement level to the decision of full enforcement (`would`).
 *
 * | would | monitor | enforce_high_risk | full_enforce |
 * |---|---|---|---|
 * | deny, hold | passes | kept if risk >= 0.8, a write without a catalogue row, or by a policy; else passes | kept |
 *
 * No level relaxes kill switches, suspended agents, malformed requests and rate limits, because rules do not decide
 * them. An unknown level enforces everything.
 */
export function applyLevel(level: EnforcementLevel, input: LevelInput): Verdict {
  if (level === 'monitor') return 'allow'
  if (level !== 'enforce_high_risk') return input.would
  return isAlwaysEnforced(input) ? input.would : 'allow'
}

function isAlwaysEnforced({ action, riskScore, isByPolicy }: LevelInput): boolean {
  if (isByPolicy || riskScore >= HIGH_RISK_SCORE) return true
  return action.unmapped === true && action.effect === 'write'
}
