import * as z from 'zod'
import { PolicyScope } from '../../crd/policy/policy-document.ts'
import { inSpellingOfDocument } from '../../crd/policy/policy-spelling.ts'
import { PolicyTest } from '../../crd/policy/policy-test.ts'
import type { PolicyEntry } from '../../wire/gateway/sync.ts'
import { compilePolicy } from './compile-policy.ts'
import { POLICY_INVALID } from './invalid-rule.ts'
import { coversTest } from './policy-tests.ts'
import { unknownActions } from './policy-warnings.ts'

/** Priority above the maximum that a user can set, so that no other policy overrides an invalid one. */
export const INVALID_PRIORITY = 3_000_000

export type InvalidPolicy = Pick<PolicyEntry, 'id' | 'name' | 'version'> & {
  /** The `spec` of the policy's manifest as written. */
  readonly spec: unknown
  /** Reason why the policy is invalid, in full sentences. */
  readonly reason: string
}

/**
 * Returns the section entry of an invalid policy without a usable version. The entry denies everything in the policy's
 * scope, or every action if the scope cannot be read or is probably misspelt (`contradicts`).
 */
export function invalidPolicyEntry({ spec, reason, ...named }: InvalidPolicy): PolicyEntry {
  const { scope, tests } = LEGIBLE.parse(inSpellingOfDocument(spec))
  const entry = entryOf(named, reason, scope ?? EVERYTHING)
  return scope === null || contradicts(entry, tests) ? entryOf(named, reason, EVERYTHING) : entry
}

const EVERYTHING = PolicyScope.parse({})
const LEGIBLE = z
  .looseObject({
    scope: PolicyScope.prefault({}).nullable().catch(null),
    tests: z.array(PolicyTest).catch([]),
  })
  .catch({ scope: null, tests: [] })

function entryOf(
  named: Omit<InvalidPolicy, 'spec' | 'reason'>,
  reason: string,
  scope: PolicyScope,
): PolicyEntry {
  const document = { scope, rules: [RULE], tests: [] }
  return { ...named, priority: INVALID_PRIORITY, mode: 'enforce', document, invalid: reason }
}

/**
 * Placeholder rule, because a policy document must contain a rule. Gateways build the deny rule from `invalid`
 * instead.
 */
const RULE = { name: POLICY_INVALID, conditions: [], decision: 'deny' as const, approver_groups: [] }

/**
 * Reports whether the scope is probably misspelt: the scope names unknown actions, or does not cover actions that the
 * policy's tests expect to be denied or held.
 */
function contradicts(entry: PolicyEntry, tests: readonly PolicyTest[]): boolean {
  if (unknownActions(entry.document.scope.actions).length > 0) return true
  const policy = compilePolicy(entry)
  const restrictive = tests.filter(
    ({ expect: { outcome } }) => outcome === 'deny' || outcome === 'requires_approval',
  )
  return restrictive.some((test) => !coversTest(policy, test))
}
