import * as z from 'zod'
import { PolicyScope } from '../crd/schemas.ts'
import type { PolicyEntry } from '../wire/sync.ts'
import type { CompiledRule } from './compiled-policy.ts'

/** Above every priority that a policy can have, so that nothing allows what an invalid policy covers. */
const PRIORITY = 3_000_000

/** Name of the one rule of an invalid policy, and the reason of its denials. */
export const POLICY_INVALID = 'policy_invalid'

export type InvalidPolicy = Pick<PolicyEntry, 'id' | 'name' | 'version' | 'agentsOf'> & {
  /** The `spec` of its manifest as it was written. */
  readonly spec: unknown
  /** Full sentences. */
  readonly reason: string
}

/**
 * The entry of a policy whose text was never in force: it denies what its scope covers, and everything where the scope
 * cannot be read.
 */
export function invalidPolicyEntry({ spec, reason, ...named }: InvalidPolicy): PolicyEntry {
  return {
    ...named,
    priority: PRIORITY,
    mode: 'enforce',
    document: { scope: legibleScope(spec), rules: [RULE], tests: [] },
    invalid: reason,
  }
}

/** Gateways take the rule from `invalid`; the document has to have one. */
const RULE = { name: POLICY_INVALID, conditions: [], decision: 'deny' as const, approver_groups: [] }

export function invalidRule(reason: string): CompiledRule {
  return {
    name: POLICY_INVALID,
    conditions: [],
    verdict: 'deny',
    reason,
    approverGroups: [],
    distinct: false,
  }
}

const Scoped = z.looseObject({ scope: PolicyScope.prefault({}) })

function legibleScope(spec: unknown): PolicyScope {
  const { success, data } = Scoped.safeParse(spec)
  return success ? data.scope : PolicyScope.parse({})
}

const Stated = z.looseObject({ mode: z.unknown(), enabled: z.unknown() })

/** Whether the manifest says legibly that the policy is not to deny anything. */
export function isHarmless(spec: unknown): boolean {
  const { success, data } = Stated.partial().safeParse(spec)
  return success && (data.mode === 'monitor' || data.enabled === false)
}
