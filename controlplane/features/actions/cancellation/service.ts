import type { Query } from '../../../db/query.ts'
import { getAction } from '../rows.ts'
import { moveActions } from '../store.ts'
import type { Notify } from '../submission/service.ts'
import { cancelNonces } from '../tokens/nonce-store.ts'

/** Cancels actions in the transaction of a kill switch. */
export type ActionCancellation = {
  /** Invalidates the unused, unexpired decision tokens of these actions. Returns the ids of the affected actions. */
  cancelTokens(q: Query, actIds: readonly string[]): Promise<readonly string[]>
  /**
   * Cancels the actions that are pending approval, or allowed with an unused token. Leaves all other actions
   * unchanged.
   */
  cancel(q: Query, actIds: readonly string[]): Promise<void>
}

export const actionCancellation: ActionCancellation = {
  cancelTokens: cancelNonces,
  cancel: (q, actIds) => moveActions(q, actIds, 'cancelled'),
}

/**
 * Cancels an approved action whose decision token was not used yet, and notifies its webhook. Returns false
 * if the token was used or has expired. The caller records the audit event.
 */
export type CancelApprovedAction = (q: Query, actId: string) => Promise<boolean>

export function createCancelApprovedAction(notify: Notify): CancelApprovedAction {
  return async (q, actId) => {
    if ((await cancelNonces(q, [actId])).length === 0) return false
    await moveActions(q, [actId], 'cancelled')
    const row = await getAction(q, actId)
    if (row?.webhook != null) await notify(q, { ...row, status: 'cancelled' }, 'action.cancelled')
    return true
  }
}
