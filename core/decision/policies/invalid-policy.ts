import * as z from 'zod'
import { PolicyTest } from '../../crd/policy-test.ts'
import { PolicyScope } from '../../crd/schemas.ts'
import type { PolicyEntry } from '../../wire/gateway/sync.ts'
import { POLICY_INVALID } from './invalid-rule.ts'
import { compilePolicy } from './policy-document.ts'
import { coversTest } from './policy-tests.ts'
import { unknownActions } from './policy-warnings.ts'

/** Above every priority that a policy can have, so that nothing allows what an invalid policy covers. */
const PRIORITY = 3_000_000

export type InvalidPolicy = Pick<PolicyEntry, 'id' | 'name' | 'version'> & {
  /** The `spec` of its manifest as it was written. */
  readonly spec: unknown
  /** Full sentences. */
  readonly reason: string
}

/**
 * The entry of a policy whose text was never in force: it denies what its scope covers, and everything where the scope
 * cannot be read or cannot be what its author meant.
 */
export function invalidPolicyEntry({ spec, reason, ...named }: InvalidPolicy): PolicyEntry {
  const { scope, tests } = LEGIBLE.parse(spec)
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
  return { ...named, priority: PRIORITY, mode: 'enforce', document, invalid: reason }
}

/** Gateways take the rule from `invalid`; the document has to have one. */
const RULE = { name: POLICY_INVALID, conditions: [], decision: 'deny' as const, approver_groups: [] }

/** A scope that names unknown actions, or leaves out what its own tests expect it to stop, is most likely misspelt. */
function contradicts(entry: PolicyEntry, tests: readonly PolicyTest[]): boolean {
  if (unknownActions(entry.document.scope.actions).length > 0) return true
  const policy = compilePolicy(entry)
  const stopped = tests.filter(
    ({ expect: { outcome } }) => outcome === 'deny' || outcome === 'requires_approval',
  )
  return stopped.some((test) => !coversTest(policy, test))
}
