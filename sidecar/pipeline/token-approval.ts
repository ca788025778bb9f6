import type { Decision } from '../../core/decision/decision.ts'
import type { Exchange } from './exchange.ts'

/** An action that the control plane has decided upon and a token was spent for. */
export type TokenApproval = { readonly actionRequestId: string; readonly actionType: string }

/**
 * What a spent decision token changes: nobody is asked a second time. Denials stay, and a request that does not turn
 * out to be the action of the token is denied.
 */
export function approvedByToken(exchange: Exchange, decision: Decision): Decision {
  const { tokenApproval, actions = [] } = exchange
  if (tokenApproval === undefined || decision.verdict === 'deny') return decision
  const { actionType, actionRequestId } = tokenApproval
  const other = actions.find(({ type }) => type !== actionType)
  if (other !== undefined) {
    const reason = `The token is for ${actionType}, but the request that follows from its parameters is ${other.type}. Submit it under that name, or correct the parameters.`
    return { ...decision, verdict: 'deny', would: 'deny', reason }
  }
  exchange.outcome.note ??= 'approved by token'
  if (decision.verdict !== 'hold') return decision
  const reason = `Approved by the decision token of ${actionRequestId}. ${decision.reason}`
  return { ...decision, verdict: 'allow', would: 'allow', reason }
}
