import type { Action } from '../../core/action/action.ts'
import type { HoldBody } from '../../core/wire/sync.ts'
import type { Exchange } from './exchange.ts'
import { primaryType } from './record.ts'

/**
 * What the approver sees: the canonical request and what it does, complete. Several actions (a batch) are listed whole
 * under `parameters.actions`.
 */
export function describeHold(
  exchange: Exchange,
  { binding, bodySha256 }: { readonly binding: string; readonly bodySha256: string | null },
): HoldBody {
  const { agent, connector, request, decision, actions = [] } = exchange
  if (agent === undefined || connector === undefined || request === undefined || decision === undefined) {
    throw new Error('held before it was decided')
  }
  const type = primaryType(exchange) ?? ''
  const primary = actions.find((action) => action.type === type)
  const rule = decision.rules.at(0)
  return {
    binding,
    agent: agent.name,
    act_id: exchange.actId ?? '',
    connector: connector.connector.name,
    action_type: type,
    target: primary?.resource.target ?? null,
    method: request.method,
    host: request.host,
    path: request.rawTarget,
    parameters: {
      ...(actions.length > 1 ? { actions: actions.map(describeAction) } : primary?.parameters),
      ...(exchange.isOpenEnded === true ? { request_stream: OPEN_STREAM } : {}),
    },
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    matched_rule: rule === undefined ? decision.permissionPattern : `${rule.policyName}: ${rule.rule}`,
    required_approver_groups: [...decision.approverGroups],
    requested_by_agent_text: null,
    body_sha256: bodySha256,
  }
}

const OPEN_STREAM =
  'open: the agent goes on sending while it waits. Whoever approves this call approves all that follows in it.'

function describeAction({ type, resource, parameters }: Action): Record<string, unknown> {
  return { type, target: resource.target ?? null, parameters }
}
