import type { MatchedRule } from '../decision.ts'

/** Returns the name of a policy as approvers and callers see it. It marks policies of the platform team. */
export function policyLabel({ policyName, tier }: Pick<MatchedRule, 'policyName' | 'tier'>): string {
  return tier === 'platform' ? `${policyName} (platform)` : policyName
}

/** Returns the label `policy: rule`. */
export function ruleLabel(matched: MatchedRule): string {
  return `${policyLabel(matched)}: ${matched.rule}`
}
