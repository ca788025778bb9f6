import { isDeepStrictEqual } from 'node:util'
import { readStoredPolicy } from '../../../../core/decision/policies/policy-document.ts'
import type { HeldBy } from '../../../../core/wire/gateway/hold.ts'

export type HoldingRule =
  | { readonly name: string; readonly problem: null }
  | { readonly name: null; readonly problem: 'several' | 'none' }

/**
 * Returns the name of the rule by which a policy holds a request. If the card names a rule of this policy, returns this
 * rule. Otherwise returns the only rule that requires approval of the same groups. `problem` states that several rules,
 * or none, require approval of these groups.
 *
 * @param policyYaml Text of the policy.
 * @param holding Entry of the policy in the field `held_by` of the card. Its field `rule` is the label of the policy,
 * with which `matchedRule` begins.
 * @param matchedRule `label: rule` for the rule that determined the decision; null if the card names no rule.
 */
export function holdingRule(
  policyYaml: string,
  { rule: label, groups, distinct }: HeldBy['policies'][number],
  matchedRule: string | null,
): HoldingRule {
  const rules = readStoredPolicy(policyYaml).rules.filter(({ decision }) => decision === 'require_approval')
  const named = rules.find(({ name }) => matchedRule === `${label}: ${name}`)
  if (named !== undefined) return { name: named.name, problem: null }
  const [only, second] = rules.filter(
    (rule) =>
      isDeepStrictEqual(rule.approver_groups.toSorted(), groups.toSorted()) &&
      (rule.distinct ?? false) === distinct,
  )
  if (only === undefined) return { name: null, problem: 'none' }
  return second === undefined ? { name: only.name, problem: null } : { name: null, problem: 'several' }
}
