import type { Decision } from '../../../core/decision/decision.ts'
import { primaryType } from '../classification/primary-action.ts'
import type { DenyReason } from '../outcome.ts'
import type { Received } from '../phases.ts'
import { refuse } from './refuse.ts'

/** Sends a denial (403) with the decision and the ids of its rules. */
export function deny(
  exchange: Received,
  decision: Decision,
  reason: DenyReason = reasonOf(decision),
): 'responded' {
  const policies = decision.policies.flatMap((ref) => ref.split('@')[0] ?? [])
  return refuse(exchange, {
    code: 'denied',
    reason,
    ...(decision.source === 'connector' ? { error: 'connector not ready' } : {}),
    detail: decision.reason,
    extra: {
      decision: 'deny',
      action_type: primaryType(exchange),
      ...(exchange.connector === undefined ? {} : { connector: exchange.connector.entry.name }),
      reason: decision.reason,
      matched_policies: policies,
      matched_permission: decision.permission,
    },
    ruleIds: [...(decision.permission === null ? [] : [decision.permission]), ...policies],
  })
}

function reasonOf({ source }: Decision): DenyReason {
  if (source === 'policy' || source === 'policy_invalid') return source
  if (source === 'connector') return 'credential'
  return source === 'agent' ? 'agent' : 'permission'
}
