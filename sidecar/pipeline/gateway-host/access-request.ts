import type { NamedAnswer } from '../../../core/decision/decide-by-name.ts'
import type { AgentFacts } from '../../../core/decision/decision.ts'
import { groupNames, requiredView } from '../../../core/decision/policies/required-groups.ts'
import { ruleLabel } from '../../../core/decision/policies/rule-label.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import { storableText } from '../../../core/storable.ts'
import type { HoldBody } from '../../../core/wire/gateway/hold.ts'
import { rulesHolding } from '../approval/held-by.ts'
import type { PipelinePorts } from '../ports.ts'

type Given = NamedAnswer & {
  readonly agent: AgentFacts
  readonly target: string | null
  readonly reason: string
  readonly duration: string
  readonly newId: PipelinePorts['newId']
}

/**
 * Builds the card of an access request, by which an agent asks for a permission. The binding is new for each card, so
 * that an approval of the card releases no held request. An approver turns the access request into a grant or a
 * permission.
 */
export function accessRequest({ input, bound, decision, agent, target, ...given }: Given): HoldBody {
  const { decisive, requiredGroups } = decision
  const { action } = input
  return {
    binding: given.newId('request'),
    agent: agent.name,
    act_id: given.newId('actionRequest'),
    connector: bound.connector.name,
    connector_name: bound.entry.name,
    action_type: action.type,
    target: storableText(target ?? '') || null,
    method: 'ACCESS',
    host: GATEWAY_HOST,
    path: '/mcp',
    headers: [],
    parameters: {},
    risk_score: decision.riskScore,
    risk_factors: [...decision.riskFactors],
    matched_rule: decisive === undefined ? decision.permissionPattern : ruleLabel(decisive),
    required_approver_groups: groupNames(requiredGroups),
    required_groups: requiredView(requiredGroups),
    requested_by_agent_text: storableText(`Access for ${given.duration}: ${given.reason}`),
    body_sha256: null,
    unread_body: null,
    effect: action.effect,
    access_request: true,
    ...(decision.verdict === 'hold'
      ? { held_by: rulesHolding(decision, { input, connectorId: bound.entry.id, request: null }) }
      : {}),
  }
}
