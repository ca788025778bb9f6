import { isBeside } from '../../../core/action/action.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { Exchange } from '../exchange.ts'

/** The action that the control plane ordered. A decision token was spent for it, which alone releases no hold. */
export type OrderedAction = {
  readonly actionRequestId: string
  readonly actionType: string
  /** The approval that a person gave for the action; null when rules alone allowed it. For the record. */
  readonly approvalId: string | null
}

/**
 * Denies a request whose class differs from the ordered action. Everything else, including further actions of the
 * request, is decided like live traffic.
 */
export function decideOrdered({ order, actions = [] }: Exchange, decision: Decision): Decision {
  const own = actions.filter((action) => !isBeside(action))
  const other = own.find(({ type }) => order !== undefined && type !== order.actionType)
  if (order === undefined || other === undefined || decision.verdict === 'deny') return decision
  const reason = `The token is for ${order.actionType}, but the request that follows from its parameters is ${other.type}. Submit it under that name, or correct the parameters.`
  return { ...decision, verdict: 'deny', would: 'deny', reason }
}
