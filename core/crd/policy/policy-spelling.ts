import type { PolicyDocument } from './policy-document.ts'
import type { PolicyRecord, PolicySpec } from './policy-spec.ts'

/**
 * Fields that are spelled differently in the policy document (by the specification) and in `Policy.spec`. `*` stands
 * for every item of a list.
 */
const FIELDS = [
  { at: ['rules', '*'], inDocument: 'approver_groups', inSpec: 'approverGroups' },
  { at: ['tests', '*', 'action'], inDocument: 'risk_hints', inSpec: 'riskHints' },
] as const

export function policyDocumentOf({ description, scope, grants, rules, tests }: PolicySpec): PolicyDocument {
  return {
    ...(description === undefined ? {} : { description }),
    scope,
    ...(grants === undefined ? {} : { grants }),
    rules: rules.map(({ approverGroups, ...rule }) => ({ ...rule, approver_groups: approverGroups })),
    tests: tests.map(({ action: { riskHints, ...action }, ...test }) => ({
      ...test,
      action: { ...action, risk_hints: riskHints },
    })),
  }
}

/** Returns the fields that are stored with the policy. `mode: disabled` becomes `enabled: false`. */
export function policyRecordOf({
  mode,
  priority,
  tags,
}: Pick<PolicySpec, 'mode' | 'priority' | 'tags'>): PolicyRecord {
  const isDisabled = mode === 'disabled'
  return { enabled: !isDisabled, priority, tags, mode: isDisabled ? 'enforce' : mode }
}

/** Returns `mode` of `Policy.spec` for the stored fields `enabled` and `mode`. */
export function modeOfSpec({ enabled, mode }: Pick<PolicyRecord, 'enabled' | 'mode'>): PolicySpec['mode'] {
  return enabled ? mode : 'disabled'
}

/** Converts a policy document, valid or not, to the spelling of `Policy.spec`. */
export function inSpellingOfSpec(document: unknown): unknown {
  return FIELDS.reduce<unknown>(
    (value, { at, inDocument, inSpec }) => renamed(value, at, [inDocument, inSpec]),
    document,
  )
}

/** Converts a `Policy.spec`, valid or not, to the spelling of the policy document. */
export function inSpellingOfDocument(spec: unknown): unknown {
  return FIELDS.reduce<unknown>(
    (value, { at, inDocument, inSpec }) => renamed(value, at, [inSpec, inDocument]),
    spec,
  )
}

/** Renames a field of the mappings at `path`. Values with another structure stay unchanged. */
function renamed(
  value: unknown,
  [step, ...rest]: readonly string[],
  names: readonly [string, string],
): unknown {
  if (Array.isArray(value)) return step === '*' ? value.map((each) => renamed(each, rest, names)) : value
  if (typeof value !== 'object' || value === null) return value
  const [from, to] = names
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (step === undefined) return [name === from ? to : name, inner]
      return [name, name === step ? renamed(inner, rest, names) : inner]
    }),
  )
}
