import type { PolicyDocument, PolicyRule } from '../crd/schemas.ts'

/** What is legal in a policy and probably not meant. Full sentences. */
export function policyWarnings(document: PolicyDocument): readonly string[] {
  return [...repeatedNames(document.rules), ...deadRules(document.rules), ...uselessGroups(document.rules)]
}

function repeatedNames(rules: readonly PolicyRule[]): string[] {
  const names = rules.map(({ name }) => name)
  const repeated = new Set(names.filter((name, index) => names.indexOf(name) !== index))
  return [...repeated].map((name) => `Several rules are called "${name}"; records cannot tell them apart.`)
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
    .map(({ name }) => `Rule "${name}" names approver groups but does not require approval.`)
}
