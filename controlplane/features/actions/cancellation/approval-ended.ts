import type { ActionRequestState } from '../../../../core/state/action-request.ts'
import type { Query } from '../../../db/query.ts'
import type { ApprovalRow } from '../../approvals/rows.ts'
import type { NotifyEvent } from '../../notifications/service.ts'
import { getAction } from '../rows.ts'
import { moveAction } from '../store.ts'
import type { Notify } from '../submission/service.ts'
import { insertNonce } from '../tokens/nonce-store.ts'
import type { Tokens } from '../tokens/service.ts'

type Ending = { readonly to: ActionRequestState; readonly event: NotifyEvent }

const ENDINGS: Readonly<Record<string, Ending>> = {
  approved: { to: 'allowed', event: 'action.approved' },
  denied: { to: 'denied', event: 'action.denied' },
  expired: { to: 'expired', event: 'action.expired' },
}

/**
 * Creates the function that moves the action request of an approved, denied or expired approval to its next state, in
 * the transaction that ends the approval. The function does nothing for a cancelled approval, because the code that
 * cancels an approval also moves its action request.
 */
export function createActionEnding(deps: {
  readonly tokens: Tokens
  readonly notify: Notify
}): (q: Query, row: ApprovalRow) => Promise<void> {
  return async (q, { kind, actId, status }) => {
    const ending = ENDINGS[status]
    if (kind !== 'action' || actId === null || ending === undefined) return
    if (!(await moveAction(q, actId, { from: 'pending_approval', to: ending.to }))) return
    if (status === 'approved') await insertNonce(q, { ...deps.tokens.newSeed(), actId })
    const action = await getAction(q, actId)
    if (action === undefined || action.webhook === null) return
    await deps.notify(q, action, ending.event)
  }
}
