import type { KnownAction } from '../../../../core/action/spec.ts'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import { type CheckedPolicy, checkPolicyText } from './policy-record.ts'

/** Compiles the text of a policy and runs its tests. The result depends on nothing but the text. */
export type CheckPolicy = (yaml: string) => CheckedPolicy

const MAX_TEXTS = 2_000

/**
 * Caches check results by text, because a change of another object often causes policies with unchanged text
 * to be applied again.
 */
export function createPolicyChecks(
  knownAction: (type: string) => KnownAction | null,
  check: typeof checkPolicyText = checkPolicyText,
): CheckPolicy {
  const known = new Map<string, CheckedPolicy>()
  return (yaml) => {
    const hash = sha256Hex(yaml)
    const found = known.get(hash) ?? check(yaml, knownAction)
    known.delete(hash)
    known.set(hash, found)
    const [oldest] = known.keys()
    if (known.size > MAX_TEXTS && oldest !== undefined) known.delete(oldest)
    return found
  }
}
