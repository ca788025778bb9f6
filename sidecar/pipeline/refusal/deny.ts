import type { Decision } from '../../../core/decision/decision.ts'
import { explainText } from '../../../core/decision/explain.ts'
import { recordPath } from '../../../core/request/redact.ts'
import { primaryType } from '../classification/primary-action.ts'
import type { DenyReason, Exchange, StageResult } from '../exchange.ts'
import { refuse } from './refuse.ts'

/** Sends a denial (403) with the decision, its rules and an explanation. */
export function deny(
  exchange: Exchange,
  decision: Decision,
  reason: DenyReason = reasonOf(decision),
): StageResult {
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
      matched_policies: decision.policies.map((ref) => ref.split('@')[0]),
      matched_permission: decision.permission,
      explain: explain(exchange, decision),
    },
  })
}

function reasonOf({ source }: Decision): DenyReason {
  if (source === 'policy' || source === 'policy_invalid') return source
  if (source === 'connector') return 'credential'
  return source === 'agent' ? 'agent' : 'permission'
}

function explain(exchange: Exchange, decision: Decision): string {
  const { request, raw, agent, connector, actions, snapshot } = exchange
  const type = primaryType(exchange)
  return explainText({
    request: `${raw.method} ${request?.host ?? ''}${request === undefined ? '' : recordPath(request)}`,
    agent: agent?.name ?? 'unknown',
    connector: connector?.entry.name ?? null,
    action: actions?.find((action) => action.type === type) ?? null,
    decision,
    snapshotVersion: snapshot?.version ?? null,
    isForAgent: true,
  })
}
