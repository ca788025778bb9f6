import { mayMatchBelow, type Pattern, parsePattern } from '../../action/pattern.ts'
import type { PolicyRule, PolicyScope } from '../../crd/policy/policy-document.ts'
import { ChaperoneError } from '../../errors.ts'
import type { PolicyEntry } from '../../wire/gateway/sync.ts'
import {
  brokenCondition,
  type Condition,
  type ConditionPlace,
  compileCondition,
} from '../conditions/condition.ts'
import { verdictOfRule } from '../vocabulary.ts'
import { type CompiledPolicy, type CompiledRule, foldScope } from './compiled-policy.ts'
import { invalidRule } from './invalid-rule.ts'

/** Compiles a policy and its conditions. Throws ChaperoneError `validation` with rule, condition and column. */
export function compilePolicy(entry: PolicyEntry): CompiledPolicy {
  return policyOf(entry, compileCondition)
}

/**
 * Compiles a stored policy. A condition that does not compile, because another version of the product accepted it,
 * counts as a condition that cannot be evaluated, which can only make a decision stricter.
 */
export function compileStoredPolicy(entry: PolicyEntry): CompiledPolicy {
  return policyOf(entry, (text, place, isAbout) => {
    try {
      return compileCondition(text, place, isAbout)
    } catch (cause) {
      if (cause instanceof ChaperoneError) return brokenCondition(text, cause)
      throw cause
    }
  })
}

function policyOf(entry: PolicyEntry, compile: typeof compileCondition): CompiledPolicy {
  const { id, name, version, priority, mode, document, invalid: reason = null } = entry
  const patterns = patternsOf(document.scope)
  const ownRules = () =>
    document.rules.map((rule) =>
      ruleOf(rule, (text, place) => compile(text, place, ruleAboutOf(rule, patterns))),
    )
  return {
    id,
    name,
    version,
    ref: `${id}@${version}`,
    priority,
    mode,
    scope: foldScope(document.scope),
    patterns,
    rules: reason === null ? ownRules() : [invalidRule(reason)],
    invalid: reason,
    tier: entry.tier ?? 'installation',
    agentsOf: entry.agentsOf ?? null,
    tightensOnly: entry.tightensOnly ?? false,
  }
}

/** Returns a function that reports whether the patterns cover any action of a connector type. */
function aboutOf(patterns: readonly Pattern[]): (connectorType: string) => boolean {
  return (connectorType) => patterns.some((pattern) => mayMatchBelow(pattern, `${connectorType}.`))
}

/**
 * Returns a function that reports whether a rule can apply to a connector type. The condition `connector.type ==
 * "TYPE"` restricts the rule to one type.
 */
export function ruleAboutOf(
  rule: PolicyRule,
  patterns: readonly Pattern[],
): (connectorType: string) => boolean {
  const isAbout = aboutOf(patterns)
  const only = rule.conditions.flatMap((text) => ONE_TYPE.exec(text)?.[1] ?? [])
  return only.length === 0 ? isAbout : (type) => only.includes(type) && isAbout(type)
}

const ONE_TYPE = /^connector\.type == "([a-z_]+)"$/

function ruleOf(rule: PolicyRule, compile: (text: string, place: ConditionPlace) => Condition): CompiledRule {
  return {
    name: rule.name,
    conditions: rule.conditions.map((text, index) => compile(text, { rule: rule.name, index })),
    verdict: verdictOfRule(rule.decision),
    reason: rule.reason ?? null,
    approverGroups: rule.approver_groups,
    distinct: rule.distinct ?? false,
  }
}

/** Returns the action patterns of a scope; `*` for a scope without actions. */
export function patternsOf(scope: PolicyScope): readonly Pattern[] {
  return (scope.actions.length === 0 ? ['*'] : scope.actions).map(parsePattern)
}
