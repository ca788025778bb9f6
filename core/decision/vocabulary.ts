/**
 * The verdict and its five external spellings (spec 2.3, 2.8, 4.5). The maps are total: a new verdict does not compile
 * without every spelling.
 */
export type Verdict = 'allow' | 'hold' | 'deny'

/** Permissions, access rules and policies. */
export type RuleDecision = 'allow' | 'require_approval' | 'deny'
/** v1 `decision.outcome`. */
export type Outcome = 'allow' | 'requires_approval' | 'deny'
/** v1 `status` right after evaluation. */
export type RequestStatus = 'allowed' | 'pending_approval' | 'denied'
/** Traffic log and record. */
export type LogDecision = 'ALLOW' | 'HOLD' | 'DENY'

export const RULE_DECISION: Readonly<Record<Verdict, RuleDecision>> = {
  allow: 'allow',
  hold: 'require_approval',
  deny: 'deny',
}
export const OUTCOME: Readonly<Record<Verdict, Outcome>> = {
  allow: 'allow',
  hold: 'requires_approval',
  deny: 'deny',
}
export const REQUEST_STATUS: Readonly<Record<Verdict, RequestStatus>> = {
  allow: 'allowed',
  hold: 'pending_approval',
  deny: 'denied',
}
export const LOG_DECISION: Readonly<Record<Verdict, LogDecision>> = {
  allow: 'ALLOW',
  hold: 'HOLD',
  deny: 'DENY',
}

const FROM_RULE: Readonly<Record<string, Verdict>> = {
  allow: 'allow',
  require_approval: 'hold',
  deny: 'deny',
}

/** An unknown spelling (for example from a newer control plane) is a deny, never an allow. */
export function verdictOfRule(decision: string): Verdict {
  return FROM_RULE[decision] ?? 'deny'
}

const STRICTNESS: Readonly<Record<Verdict, number>> = { allow: 0, hold: 1, deny: 2 }

export function strictness(verdict: Verdict): number {
  return STRICTNESS[verdict]
}

export function strictest(a: Verdict, b: Verdict): Verdict {
  return STRICTNESS[a] >= STRICTNESS[b] ? a : b
}
