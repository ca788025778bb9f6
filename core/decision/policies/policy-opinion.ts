import type { NameRules } from '../../connectors/names.ts'
import { nameRulesOf } from '../../connectors/registry.ts'
import { POLICY_TIERS } from '../../wire/gateway/sections/policy-reach.ts'
import type { Condition, ConditionError } from '../conditions/condition.ts'
import type { MatchedRule, PolicyTrace } from '../decision.ts'
import type { PlacedInput } from '../facts/environment.ts'
import type { Facts } from '../facts/facts.ts'
import { RULE_DECISION, strictness, type Verdict } from '../vocabulary.ts'
import { type CompiledPolicy, type CompiledRule, isInScope, type Reach, reachOf } from './compiled-policy.ts'
import type { PolicyIndex } from './policy-index.ts'
import { type RequiredGroups, uniqueRequired } from './required-groups.ts'
import { policyLabel } from './rule-label.ts'

/** Result of one policy, determined by its first matching rule. */
export type Opinion = {
  readonly policy: CompiledPolicy
  readonly rule: CompiledRule
  /** Error of a condition that could not be evaluated, if the rule matched because of this error; null otherwise. */
  readonly error: string | null
}

/**
 * Combined result of all policies. `verdict` is null if no policy matched, or if only policies of the platform team
 * matched and their combined result is allow.
 */
export type PolicyVerdict = {
  readonly verdict: Verdict | null
  /** Policy result that determines `verdict`; null if `verdict` is null. */
  readonly decisive: Opinion | null
  readonly opinions: readonly Opinion[]
  readonly requiredGroups: readonly RequiredGroups[]
}

/** Returns the results of all policies in scope, highest priority first. */
export function collectOpinions(index: PolicyIndex, input: PlacedInput, facts: Facts): readonly Opinion[] {
  const opinions: Opinion[] = []
  const rules = nameRulesOf(input.action.connector)
  const candidates = index.candidates(input.action.type, rules)
  const read = readOnce(facts, rules, candidates.repeated)
  for (const { policy, reach } of candidates.of(facts)) {
    const opinion = isInScope(policy, input) ? firstMatch(policy, reach, read, input.isAnnounced) : null
    if (opinion !== null) opinions.push(opinion)
  }
  return opinions
}

/** Evaluates a condition for one decision. */
type Read = (condition: Condition) => boolean | ConditionError

/**
 * Returns a function that evaluates conditions for one decision. The function evaluates a program in `repeated` only
 * once.
 */
function readOnce(facts: Facts, rules: NameRules | null, repeated: ReadonlySet<string>): Read {
  if (repeated.size === 0) return (condition) => condition.evaluate(facts)
  const known = new Map<string, boolean | ConditionError>()
  return (condition) => {
    const { text } = condition.programFor(rules)
    if (!repeated.has(text)) return condition.evaluate(facts)
    const value = known.get(text) ?? condition.evaluate(facts)
    known.set(text, value)
    return value
  }
}

/**
 * Returns the result of one policy; null if the policy is not in scope, no rule of it matches, or the rule is an allow
 * of a policy with `tightensOnly`.
 */
export function opinionOf(policy: CompiledPolicy, input: PlacedInput, facts: Facts): Opinion | null {
  const reach = scopeOf(policy, input)
  if (reach === 'none') return null
  return firstMatch(policy, reach, (condition) => condition.evaluate(facts), input.isAnnounced)
}

function firstMatch(
  policy: CompiledPolicy,
  reach: Reach,
  read: Read,
  isAnnounced: boolean | undefined,
): Opinion | null {
  for (const rule of policy.rules) {
    if (rule.verdict === 'allow' && reach !== 'full') continue
    const { isMatch, error } = matchRule(rule, read, isAnnounced)
    if (isMatch) return policy.tightensOnly && rule.verdict === 'allow' ? null : { policy, rule, error }
  }
  return null
}

function scopeOf(policy: CompiledPolicy, input: PlacedInput): Reach {
  return isInScope(policy, input) ? reachOf(policy, input.action.type) : 'none'
}

/**
 * Combines the results of policies. Policies form tiers by where they come from (`POLICY_TIERS`); those with
 * `tightensOnly` form a tier of their own. Within a tier, the highest matching priority decides; at equal priority, the
 * strictest result. Each policy of that priority whose result is hold requires its own approver groups. Across tiers,
 * the strictest result applies; an allow of the tier `platform` counts as no match.
 */
export function weigh(opinions: readonly Opinion[]): PolicyVerdict {
  const [first] = opinions
  if (first === undefined) return NO_OPINION
  const own = tierOf(first)
  if (opinions.every((opinion) => tierOf(opinion) === own)) return weighTier(own, opinions)
  const tiers = Map.groupBy(opinions, tierOf)
  const results = TIERS.map((tier) => weighTier(tier, tiers.get(tier) ?? []))
  return { ...results.reduce(stricterOf), opinions }
}

/** Order of the tiers. If several tiers have equally strict results, the decision names the first of these tiers. */
const TIERS = [...POLICY_TIERS, 'tightening'] as const
type Tier = (typeof TIERS)[number]

function tierOf({ policy }: Opinion): Tier {
  return policy.tightensOnly ? 'tightening' : policy.tier
}

function weighTier(tier: Tier, opinions: readonly Opinion[]): PolicyVerdict {
  const result = byPriority(opinions)
  const isCeiling = tier === 'platform' && result.verdict === 'allow'
  return isCeiling ? { ...NO_OPINION, opinions } : result
}

const NO_OPINION: PolicyVerdict = { verdict: null, decisive: null, opinions: [], requiredGroups: [] }

function stricterOf(a: PolicyVerdict, b: PolicyVerdict): PolicyVerdict {
  if (a.verdict === null || b.verdict === null) return a.verdict === null ? b : a
  if (a.verdict !== b.verdict) return strictness(b.verdict) > strictness(a.verdict) ? b : a
  return { ...a, requiredGroups: uniqueRequired([...a.requiredGroups, ...b.requiredGroups]) }
}

function byPriority(opinions: readonly Opinion[]): PolicyVerdict {
  const [first] = opinions
  if (first === undefined) return NO_OPINION
  const peers = opinions.filter(({ policy }) => policy.priority === first.policy.priority)
  const decisive = peers.reduce((a, b) => (strictness(b.rule.verdict) > strictness(a.rule.verdict) ? b : a))
  const { verdict } = decisive.rule
  const holding = verdict === 'hold' ? peers.filter(({ rule }) => rule.verdict === verdict) : []
  return { verdict, decisive, opinions, requiredGroups: uniqueRequired(holding.map(requiredOf)) }
}

function requiredOf(opinion: Opinion): RequiredGroups {
  const { policy, rule } = opinion
  const name = policyLabel(matchedRule(opinion))
  return { policyId: policy.id, policy: name, groups: rule.approverGroups, distinct: rule.distinct }
}

export function matchedRule({ policy, rule }: Opinion): MatchedRule {
  const matched = { policyId: policy.id, policyName: policy.name, rule: rule.name }
  return policy.tier === 'platform' ? { ...matched, tier: policy.tier } : matched
}

type RuleMatch = { readonly isMatch: boolean; readonly failed: string | null; readonly error: string | null }

/**
 * Reports whether a rule matches: all of its conditions are true. If any condition is false, the rule does not match.
 * Otherwise, a condition that cannot be evaluated makes the decision stricter: an allow rule does not match, a deny or
 * require_approval rule does. For an announced action, which a later request performs, the reverse holds, because the
 * later request is decided again.
 */
function matchRule(rule: CompiledRule, read: Read, isAnnounced = false): RuleMatch {
  let error: string | null = null
  let failed: string | null = null
  for (const condition of rule.conditions) {
    const value = read(condition)
    if (value === true) continue
    if (value === false) return { isMatch: false, failed: condition.text, error: null }
    error ??= `\`${condition.text}\` could not be evaluated: ${value.error}`
    failed ??= error
  }
  const isUnknownMatch = (rule.verdict === 'allow') === isAnnounced
  return { isMatch: error === null || isUnknownMatch, failed, error }
}

/** Returns the trace of every policy and rule, for a dry run. */
export function tracePolicies(index: PolicyIndex, input: PlacedInput, facts: Facts): readonly PolicyTrace[] {
  return index.all.map((policy) => {
    const scope = scopeOf(policy, input)
    return {
      policy_id: policy.id,
      policy_name: policy.name,
      scope_matched: scope !== 'none',
      rules: scope === 'none' ? [] : policy.rules.map((rule) => traceRule(rule, facts, scope === 'full')),
    }
  })
}

function traceRule(rule: CompiledRule, facts: Facts, mayAllow: boolean): PolicyTrace['rules'][number] {
  const { isMatch, failed } = matchRule(rule, (condition) => condition.evaluate(facts))
  const counts = isMatch && (mayAllow || rule.verdict !== 'allow')
  return {
    rule_name: rule.name,
    conditions_matched: counts,
    failed_condition: failed,
    decision: counts ? RULE_DECISION[rule.verdict] : null,
  }
}
