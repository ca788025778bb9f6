import type { ErrorCode } from '../../../../core/errors.ts'
import type { ResultBody } from '../../../../core/wire/gateway/sync.ts'
import type { Query } from '../../../db/query.ts'
import { agentActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { moveAction } from '../store.ts'
import { closeExecution } from './store.ts'

/** Outcome of an execution. `isDone`: the upstream answered; `status` and `result` are then its answer. */
export type Outcome = {
  readonly isDone: boolean
  readonly status: number | null
  readonly result: unknown
  readonly error: string | null
  readonly code: ErrorCode | null
}

export type Executed = Outcome & {
  readonly orderId: string
  /** Id of the gateway that executed the action. Null for the gateway at the setting `gateway_url`. */
  readonly gatewayId: string | null
}

/** The action request of an execution, with its organisation, agent and action type. */
export type ExecutedAction = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly type: string
}

/** Converts the result that a gateway reports to an outcome. */
export function outcomeOf({ ok, status, result, error }: ResultBody): Outcome {
  if (ok && status !== null) return { isDone: true, status, result, error: null, code: null }
  const code: ErrorCode = status === 403 ? 'denied' : 'upstream_failed'
  return { isDone: false, status, result: null, error: error ?? 'the gateway gave no reason', code }
}

/**
 * Stores the state of the action and the audit event in the caller's transaction. Returns false when the
 * action already has an outcome, because only the first reported outcome counts. Responses of upstreams are
 * not stored.
 */
export async function recordExecution(
  q: Query,
  action: ExecutedAction,
  { isDone, status, error, gatewayId, orderId }: Executed,
): Promise<boolean> {
  await closeExecution(q, orderId)
  const to = isDone ? 'executed' : 'execution_failed'
  const isMoved =
    (await moveAction(q, action.id, { from: 'allowed', to })) ||
    // The upstream executed the request. The action therefore becomes `executed` even if a hold of the same request
    // moved the action back to `pending_approval`.
    (isDone && (await moveAction(q, action.id, { from: 'pending_approval', to })))
  if (!isMoved) return false
  const details = { action_type: action.type, gateway_id: gatewayId, order_id: orderId, status }
  await recordEvent(q, {
    orgId: action.orgId,
    type: isDone ? 'action.executed' : 'action.execution_failed',
    actor: agentActor(action.agentId, 'installation'),
    actionRequestId: action.id,
    details: isDone ? details : { ...details, error },
  })
  return true
}
