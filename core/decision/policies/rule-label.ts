import type { MatchedRule } from '../decision.ts'

/** The name of a policy as approvers and callers read it: it says which rules are those of the platform team. */
export function policyLabel({ policyName, tier }: Pick<MatchedRule, 'policyName' | 'tier'>): string {
  return tier === 'platform' ? `${policyName} (platform)` : policyName
}

/** `policy: rule`. */
export function ruleLabel(matched: MatchedRule): string {
  return `${policyLabel(matched)}: ${matched.rule}`
}
