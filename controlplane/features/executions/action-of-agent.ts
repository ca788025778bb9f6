import { ChaperoneError } from '../../../core/errors.ts'
import { moveActionRequest } from '../../../core/state/action-request.ts'
import type { ActionRow } from '../actions/store.ts'

/** Who asks, and for which of its actions. Those of others are not found. */
export type OwnAction = { readonly agentId: string; readonly id: string }

/** 404 for what is not there and for what belongs to another agent: nobody learns which. */
export async function ownAction(
  read: () => Promise<ActionRow | undefined>,
  { agentId, id }: OwnAction,
): Promise<ActionRow> {
  const row = await read()
  if (row !== undefined && row.agentId === agentId) return row
  throw new ChaperoneError('not_found', {
    error: 'Action request not found',
    detail: `This agent has no action request ${id.slice(0, 100)}`,
  })
}

/** Throws 409 (or 410) with the reason when the action may not be moved this way. */
export function assertMovable(row: ActionRow, event: Parameters<typeof moveActionRequest>[1]): void {
  const moved = moveActionRequest(row.status, event)
  if (!moved.ok) throw new ChaperoneError(moved.code, { error: moved.detail, detail: moved.detail })
}
