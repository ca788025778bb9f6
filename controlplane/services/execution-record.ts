import type { ErrorCode } from '../../core/errors.ts'
import { type ActionRow, moveAction } from '../store/actions.ts'
import { appendAudit } from '../store/audit.ts'
import type { Db } from '../store/query.ts'

/** What became of an order. `isDone`: the upstream answered; `status` and `result` are its answer. */
export type Executed = {
  readonly orderId: string
  readonly gatewayId: string
  readonly isDone: boolean
  readonly status: number | null
  readonly result: unknown
  readonly error: string | null
  readonly code: ErrorCode | null
}

/** State and audit event together. What upstreams answer is not stored. */
export async function recordExecution(db: Db, row: ActionRow, executed: Executed): Promise<void> {
  const { isDone, status, error, gatewayId, orderId } = executed
  await db.tx(async (q) => {
    await moveAction(q, row.id, { from: 'allowed', to: isDone ? 'executed' : 'execution_failed' })
    const details = { action_type: row.spec.type, gateway_id: gatewayId, order_id: orderId, status }
    await appendAudit(q, {
      orgId: row.orgId,
      eventType: isDone ? 'action.executed' : 'action.execution_failed',
      agentId: row.agentId,
      actionRequestId: row.id,
      details: isDone ? details : { ...details, error },
    })
  })
}
