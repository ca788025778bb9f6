import { isBeside } from '../../../core/action/action.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { Classified } from '../phases.ts'

/** An action that the control plane ordered. The spent decision token of the order alone does not release a hold. */
export type OrderedAction = {
  readonly actionRequestId: string
  readonly actionType: string
  /** Approval of the action for the record; null when rules alone allowed it. */
  readonly approvalId: string | null
}

/**
 * Denies an ordered request whose class differs from the ordered action. All else, including further actions of the
 * request, is decided like live traffic.
 */
export function decideOrdered({ order, actions }: Classified, decision: Decision): Decision {
  if (order === undefined || decision.verdict === 'deny') return decision
  const other = actions.find((action) => !isBeside(action) && action.type !== order.actionType)
  if (other === undefined) return decision
  const reason = `The token is for ${order.actionType}, but its parameters describe the action ${other.type}. Submit the action under that name, or correct the parameters.`
  return { ...decision, verdict: 'deny', would: 'deny', reason }
}
