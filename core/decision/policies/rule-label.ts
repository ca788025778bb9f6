import type { MatchedRule } from '../decision.ts'

/** Returns the name of a policy for approvers and callers; it marks policies of the platform team. */
export function policyLabel({ policyName, tier }: Pick<MatchedRule, 'policyName' | 'tier'>): string {
  return tier === 'platform' ? `${policyName} (platform)` : policyName
}

/** `policy: rule`. */
export function ruleLabel(matched: MatchedRule): string {
  return `${policyLabel(matched)}: ${matched.rule}`
}
