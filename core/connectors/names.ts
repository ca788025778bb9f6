import type { Parameters, Resource } from '../action/action.ts'

/**
 * How a provider compares a name. `name`: without case. `repository`: without case and without a trailing `.git`.
 * `branch`: exactly, except for the owner before the last colon (`owner:branch`, `owner:base...owner:head`), which is
 * compared without case.
 */
export type NameKind = 'name' | 'repository' | 'branch'

/**
 * Rules for names that a provider compares without case. All other values are compared exactly. `parameters`: keys of
 * parameters at any depth.
 */
export type NameRules = {
  readonly target: NameKind
  readonly account: NameKind
  readonly parameters: ReadonlyMap<string, NameKind>
}

/**
 * Returns the canonical spelling of a name. The provider considers all names with the same canonical spelling equal.
 * Idempotent.
 */
export function canonicalName(kind: NameKind, text: string): string {
  if (kind === 'branch') return text.split('...').map(withoutCaseOfOwner).join('...')
  const folded = text.toLowerCase()
  return kind === 'repository' ? folded.replace(/(?<=[^/])(?:\.git)+$/, '') : folded
}

function withoutCaseOfOwner(branch: string): string {
  const colon = branch.lastIndexOf(':') + 1
  return branch.slice(0, colon).toLowerCase() + branch.slice(colon)
}

export function canonicalResource(rules: NameRules | null, resource: Resource): Resource {
  const { account, target } = resource
  if (rules === null) return resource
  return {
    ...resource,
    ...(account === undefined ? {} : { account: canonicalName(rules.account, account) }),
    ...(target === undefined ? {} : { target: canonicalName(rules.target, target) }),
  }
}

export function canonicalParameters(rules: NameRules | null, parameters: Parameters): Parameters {
  if (rules === null) return parameters
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, canonicalUnder(rules, key, value, 0)]),
  )
}

/** Maximum depth at which names are converted to their canonical spelling. Conditions cannot access deeper values. */
const MAX_NESTING = 16

function canonicalUnder(rules: NameRules, key: string, value: unknown, depth: number): unknown {
  const kind = rules.parameters.get(baseName(key))
  if (typeof value === 'string') return kind === undefined ? value : canonicalName(kind, value)
  if (typeof value !== 'object' || value === null || depth > MAX_NESTING) return value
  if (Array.isArray(value)) return value.map((item: unknown) => canonicalUnder(rules, key, item, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([inner, item]) => [inner, canonicalUnder(rules, inner, item, depth + 1)]),
  )
}

/** Returns the parameter name without brackets: `assignees` for `assignees[]` and `assignees[0]`. */
function baseName(key: string): string {
  const bracket = key.indexOf('[')
  return bracket === -1 ? key : key.slice(0, bracket)
}
