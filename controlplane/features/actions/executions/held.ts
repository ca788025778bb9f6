import type { DecisionView } from '../../../../core/wire/v1.ts'
import type { Query } from '../../../db/query.ts'
import { holdAction } from '../store.ts'
import { parkNonce } from '../tokens/nonce-store.ts'
import { closeExecution, findExecution, markReleased, type RunningExecution } from './store.ts'

/** Executions whose request a gateway holds. Every method runs in the transaction of the hold. */
export type HeldExecutions = {
  /** Finds and locks the running execution to which a held request belongs. */
  find(q: Query, key: Parameters<typeof findExecution>[1]): Promise<RunningExecution | undefined>
  /** Marks that the approval of the execution has released a hold. */
  release(q: Query, execution: RunningExecution): Promise<void>
  /**
   * Ends the execution because its request needs an approval. The action becomes pending, and its decision token is
   * invalid until the approval renews it. Changes nothing and returns false when the action is no longer allowed.
   */
  defer(
    q: Query,
    execution: RunningExecution,
    hold: { readonly approvalId: string; readonly decision: DecisionView },
  ): Promise<boolean>
}

export const heldExecutions: HeldExecutions = {
  find: findExecution,
  release: (q, { orderId }) => markReleased(q, orderId),
  async defer(q, { actId, orderId }, hold) {
    if (!(await holdAction(q, actId, hold))) return false
    await parkNonce(q, actId)
    await closeExecution(q, orderId)
    return true
  },
}
