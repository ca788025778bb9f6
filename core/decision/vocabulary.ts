/**
 * Decision of rules about one action. The maps below contain its spelling in each interface (spec 2.3, 2.8, 4.5).
 * TypeScript rejects a new value that lacks a spelling.
 */
export type Verdict = 'allow' | 'hold' | 'deny'

/** Spelling of a decision in permissions, access rules and policies. */
export type RuleDecision = 'allow' | 'require_approval' | 'deny'
/** Spelling of a decision in `decision.outcome` of the v1 API. */
export type Outcome = 'allow' | 'requires_approval' | 'deny'
/** Value of `status` of a v1 action request directly after its evaluation. */
export type RequestStatus = 'allowed' | 'pending_approval' | 'denied'
/** Spelling of a decision in records and the traffic log. */
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

/**
 * Converts the spelling of a decision in a rule. An unknown spelling, for example from a newer control plane, is a
 * deny.
 */
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
