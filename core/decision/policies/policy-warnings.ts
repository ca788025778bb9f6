import { mayMatchBelow, parsePattern } from '../../action/pattern.ts'
import { idleAllowWarning, unknownActionWarning } from '../../connectors/action-names.ts'
import { NAME_RULES } from '../../connectors/registry.ts'
import type { PolicyDocument, PolicyRule } from '../../crd/policy/policy-document.ts'
import { nearest } from '../../nearest.ts'
import { conditionWarnings, guardedTarget, spelledFact } from '../conditions/condition-warnings.ts'
import { undeclaredNames } from './undeclared-parameters.ts'

/** Returns warnings, as full sentences, about content of a policy that is valid but probably not intended. */
export function policyWarnings(document: PolicyDocument): readonly string[] {
  const { rules, scope, tests } = document
  return [
    // A test with a misspelt action name does not test the intended action.
    ...new Set(unknownActions([...scope.actions, ...tests.map(({ action }) => action.type)])),
    ...new Set(rules.flatMap(({ conditions }) => conditions.flatMap(conditionWarnings))),
    ...new Set(undeclaredWarnings(document)),
    ...guardedTargets(rules),
    ...spelledNames(document),
    ...idleAllows(document),
    ...repeatedNames(rules),
    ...deadRules(rules),
    ...uselessGroups(rules),
  ]
}

function undeclaredWarnings({ rules, scope }: PolicyDocument): readonly string[] {
  const patterns = (scope.actions.length === 0 ? ['*'] : scope.actions).map(parsePattern)
  return rules.flatMap(({ conditions }) =>
    conditions.flatMap((text) => undeclaredNames(text, patterns).warnings.map((warning) => `${warning}.`)),
  )
}

function guardedTargets(rules: readonly PolicyRule[]): readonly string[] {
  return rules.flatMap(({ name, conditions, decision }) => {
    const target =
      decision === 'allow' ? undefined : conditions.map(guardedTarget).find((each) => each !== null)
    if (target === undefined) return []
    return [
      `Rule "${name}" contains has(${target}), so the rule does not apply to requests without a known target. Remove has() to apply the rule to such requests.`,
    ]
  })
}

/**
 * Returns warnings about deny and require_approval rules that compare names as the agent sent them. The provider
 * ignores case in names, so an agent could evade such a rule by another spelling.
 */
function spelledNames({ rules, scope }: PolicyDocument): readonly string[] {
  const patterns = scope.actions.filter((text) => text !== '*').map(parsePattern)
  const [type] = [...NAME_RULES.keys()].filter((one) =>
    patterns.some((pattern) => mayMatchBelow(pattern, `${one}.`)),
  )
  if (type === undefined) return []
  return rules.flatMap(({ name, conditions, decision }) => {
    const fact = decision === 'allow' ? undefined : conditions.map(spelledFact).find((each) => each !== null)
    if (fact === undefined) return []
    return [
      `Rule "${name}" reads ${fact}, which has the spelling of the request. ${type} compares names without case, so the rule does not match other spellings of the same name. Use resource.target or parameters.`,
    ]
  })
}

function idleAllows({ rules, scope }: PolicyDocument): readonly string[] {
  if (!rules.some(({ decision }) => decision === 'allow')) return []
  return scope.actions.flatMap((pattern) => idleAllowWarning(pattern) ?? [])
}

/** Returns warnings, as full sentences, about action patterns that match no action of the catalogue. */
export function unknownActions(patterns: readonly string[]): readonly string[] {
  return patterns.map((pattern) => unknownActionWarning(pattern)).filter((warning) => warning !== null)
}

/**
 * Returns warnings, as full sentences, about approver groups without members.
 * @param groups Groups with at least one member.
 * @param absence Returns the sentence about a group outside of `groups`; null if the group has members after all.
 */
export function emptyGroupWarnings(
  document: PolicyDocument,
  groups: ReadonlySet<string>,
  absence: (group: string) => string | null = noAccount,
): readonly string[] {
  const named = new Set(document.rules.flatMap((rule) => rule.approver_groups))
  return [...named]
    .filter((group) => !groups.has(group))
    .flatMap((group) => {
      const text = absence(group)
      if (text === null) return []
      const meant = nearest(group, [...groups])
      const question = meant === undefined ? '' : ` Did you mean "${meant}"?`
      return [`${text} ${STAND_IN}${question}`]
    })
}

/** Returns the warning about an empty group, for an installation in which only user accounts have groups. */
export function noAccount(group: string): string {
  return `No account is in the group "${group}".`
}

const STAND_IN =
  'If no group of a rule has members, owners and admins of all namespaces can approve its requests.'

function repeatedNames(rules: readonly PolicyRule[]): string[] {
  const names = rules.map(({ name }) => name)
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...repeated].map(
    (name) =>
      `Several rules have the name "${name}", so records do not show which one applied. Give each rule its own name.`,
  )
}

function deadRules(rules: readonly PolicyRule[]): string[] {
  const last = rules.findIndex(({ conditions }) => conditions.length === 0)
  if (last < 0) return []
  return rules
    .slice(last + 1)
    .map(({ name }) => `Rule "${name}" never applies: "${rules[last]?.name}" before it has no conditions.`)
}

function uselessGroups(rules: readonly PolicyRule[]): string[] {
  return rules
    .filter(({ decision }) => decision !== 'require_approval')
    .filter(({ approver_groups: groups, distinct }) => groups.length > 0 || distinct === true)
    .map(
      ({ name }) =>
        `Rule "${name}" has approver groups or distinct, which have no effect, because the rule does not require approval.`,
    )
}
