import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { Query } from '../../../db/query.ts'
import { getUsableApproval } from '../../approvals/rows.ts'
import type { ActionRow } from '../rows.ts'
import type { ActionRulesSource } from '../rules.ts'
import { type Evaluated, type EvaluationDeps, evaluateAction } from '../submission/evaluation.ts'

/**
 * Returns a hash of the rules that decided the action, and of the gateway and connectors that may execute it.
 * An approval of the action is valid only while this hash is unchanged.
 */
export function actionBinding({
  decision,
  gateway,
  connectors,
}: Pick<Evaluated, 'decision' | 'gateway' | 'connectors'>): string {
  const rules = [[...decision.policies].sort(), decision.permission, decision.requiredGroups]
  const place = [gateway?.snapshot.gateway.id, connectors.map(({ entry }) => entry.id)]
  return sha256Hex(JSON.stringify(['action-1', rules, place]))
}

type UserApprovalDeps = EvaluationDeps & {
  readonly db: Query
  readonly rules: Pick<ActionRulesSource, 'current'>
}

/**
 * Returns the id of the approval that approvers gave for exactly this action; null when rules alone allowed the action,
 * and when the approval is no longer valid. An approval is valid only under the same rules and while its approvers
 * still have the right to answer. For an approval that a gateway's hold opened, the rules are compared later, when the
 * gateway requests the hold again. The id comes from the database and never from a token.
 */
export async function userApproval(
  deps: UserApprovalDeps,
  { id, approvalId, agentId, spec }: ActionRow,
): Promise<string | null> {
  const row = approvalId === null ? undefined : await getUsableApproval(deps.db, approvalId)
  if (row === undefined || row.actId !== id) return null
  if (row.gatewayId !== null) return row.id
  const rules = deps.rules.current()
  const agent = rules.agent(agentId)
  if (agent === undefined) return null
  return actionBinding(evaluateAction(deps, { rules, agent, spec })) === row.binding ? row.id : null
}
