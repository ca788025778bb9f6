import type { DecisionSource } from './decision.ts'
import type { PermissionMatch } from './permissions/permission-index.ts'
import type { PolicyVerdict } from './policies/policy-opinion.ts'
import { strictest, strictness, type Verdict, verdictOfRule } from './vocabulary.ts'

/** Combined result of permission and policies, before the enforcement level applies. */
export type Judgement = {
  readonly verdict: Verdict
  readonly source: Extract<DecisionSource, 'permission' | 'policy' | 'policy_invalid' | 'default'>
  /** True if the policies give exactly this decision. The permission may give it, too. */
  readonly isByPolicy: boolean
  /**
   * True if neither a permission nor a policy matched an action of the v1 API, so that the decision is deny. Always
   * false in the mode `gateway`.
   */
  readonly isSilent: boolean
  readonly permission: PermissionMatch | null
  readonly policy: PolicyVerdict
}

/**
 * Combination of permissions and policies. `gateway`: the stricter of both applies. `advisory`: as `gateway`, but the
 * decision is deny if neither matches. `policiesOnly`: there are no permissions.
 */
export type JudgementMode = 'gateway' | 'advisory' | 'policiesOnly'

export type JudgementInput = {
  readonly mode: JudgementMode
  readonly permission: PermissionMatch | null
  readonly policy: PolicyVerdict
  readonly defaultVerdict: Verdict
}

export function judge({ mode, permission, policy, defaultVerdict }: JudgementInput): Judgement {
  const said = policy.verdict
  const isSilent = mode !== 'gateway' && permission === null && said === null
  const sides = { permission, policy, isSilent }
  if (isSilent) return { verdict: 'deny', source: 'default', isByPolicy: false, ...sides }
  if (mode === 'policiesOnly') {
    return { verdict: said ?? 'deny', source: sourceOf(policy), isByPolicy: true, ...sides }
  }
  const permitted = permission === null ? knownVerdict(defaultVerdict) : verdictOfRule(permission.decision)
  const verdict = said === null ? permitted : strictest(permitted, said)
  const isPolicyStricter = said !== null && strictness(said) > strictness(permitted)
  const own = permission === null ? 'default' : 'permission'
  return {
    verdict,
    source: isPolicyStricter ? sourceOf(policy) : own,
    isByPolicy: said === verdict,
    ...sides,
  }
}

function sourceOf({ decisive }: PolicyVerdict): 'policy' | 'policy_invalid' {
  return decisive !== null && decisive.policy.invalid !== null ? 'policy_invalid' : 'policy'
}

/** Returns the decision; an unknown one becomes deny. */
function knownVerdict(verdict: Verdict): Verdict {
  return verdict === 'allow' || verdict === 'hold' ? verdict : 'deny'
}

/** Returns a reference `pol_…@version` for every matching policy. The reference of the deciding policy is the first. */
export function policyRefs({ decisive, opinions }: PolicyVerdict): readonly string[] {
  const refs = opinions.map(({ policy }) => policy.ref)
  return decisive === null ? refs : [...new Set([decisive.policy.ref, ...refs])]
}

export function modeOf(rules: { readonly permissions: unknown; readonly level: unknown }): JudgementMode {
  if (rules.permissions === null) return 'policiesOnly'
  return rules.level === null ? 'advisory' : 'gateway'
}
