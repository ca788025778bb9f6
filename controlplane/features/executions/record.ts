import type { ErrorCode } from '../../../core/errors.ts'
import type { ResultBody } from '../../../core/wire/gateway/sync.ts'
import type { Query } from '../../db/query.ts'
import { moveAction } from '../actions/store.ts'
import { agentActor, appendAudit } from '../audit/store.ts'
import { closeExecution } from './store.ts'

/** What became of an order. `isDone`: the upstream answered; `status` and `result` are its answer. */
export type Outcome = {
  readonly isDone: boolean
  readonly status: number | null
  readonly result: unknown
  readonly error: string | null
  readonly code: ErrorCode | null
}

export type Executed = Outcome & {
  readonly orderId: string
  /** Null: through `gateway_url`. */
  readonly gatewayId: string | null
}

/** Whose execution it was. */
export type ExecutedAction = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly type: string
}

/** In the words of the gateway. */
export function outcomeOf({ ok, status, result, error }: ResultBody): Outcome {
  if (ok && status !== null) return { isDone: true, status, result, error: null, code: null }
  const code: ErrorCode = status === 403 ? 'denied' : 'upstream_failed'
  return { isDone: false, status, result: null, error: error ?? 'the gateway did not say why', code }
}

/**
 * State and audit event together, in the caller's transaction. False when the action has an outcome already: of two
 * that tell, one is heard. What upstreams answer is not stored.
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
    // What the upstream did is done, even if a hold of the same request has sent the action back to wait.
    (isDone && (await moveAction(q, action.id, { from: 'pending_approval', to })))
  if (!isMoved) return false
  const details = { action_type: action.type, gateway_id: gatewayId, order_id: orderId, status }
  await appendAudit(q, {
    orgId: action.orgId,
    eventType: isDone ? 'action.executed' : 'action.execution_failed',
    actor: agentActor(action.agentId, 'installation'),
    actionRequestId: action.id,
    details: isDone ? details : { ...details, error },
  })
  return true
}
