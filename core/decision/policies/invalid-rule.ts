import type { CompiledRule } from './compiled-policy.ts'

/** Name of the only rule of an invalid policy, and the reason of its denials. */
export const POLICY_INVALID = 'policy_invalid'

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
