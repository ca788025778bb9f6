import type { MatchedRule } from '../decision.ts'

/** Returns the displayed name of a policy. The suffix `(platform)` marks a policy of the platform team. */
export function policyLabel({ policyName, tier }: Pick<MatchedRule, 'policyName' | 'tier'>): string {
  return tier === 'platform' ? `${policyName} (platform)` : policyName
}

/** Returns the label `policy: rule`. */
export function ruleLabel(matched: MatchedRule): string {
  return `${policyLabel(matched)}: ${matched.rule}`
}
