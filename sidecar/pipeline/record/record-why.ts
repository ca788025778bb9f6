import type { Decision } from '../../../core/decision/decision.ts'
import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import type { RecordWhy } from '../../../core/record.ts'

/** Explanations by decision, which are cached because requests with the same line share one decision object. */
const known = new WeakMap<Decision, RecordWhy>()

/**
 * Returns the explanation of a decision. Returns null without a decision, and for a plain allow, because its permission
 * and policies are recorded anyway.
 */
export function whyOf(decision: Decision | undefined): RecordWhy | null {
  if (decision === undefined || (decision.verdict === 'allow' && decision.would === 'allow')) return null
  const found = known.get(decision)
  if (found !== undefined) return found
  const why: RecordWhy = {
    source: decision.source,
    reason: decision.reason,
    pattern: decision.permissionPattern,
    rules: decision.rules.map(({ policyName, rule }) => ({ policy: policyName, rule })),
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    approver_groups: groupNames(decision.requiredGroups),
  }
  known.set(decision, why)
  return why
}
