import { ChaperoneError } from '../../../core/errors.ts'
import { moveActionRequest } from '../../../core/state/action-request.ts'
import type { ActionRow } from '../actions/store.ts'

/** The calling agent and one of its action requests. Action requests of other agents are `not_found`. */
export type OwnAction = { readonly agentId: string; readonly id: string }

/**
 * Reads the action request of this agent. Throws the same `not_found` for a missing action request and for one of
 * another agent, so that the error does not disclose which ids exist.
 */
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

/** Throws `conflict` or `gone` with the reason when the action cannot make this transition. */
export function assertMovable(row: ActionRow, event: Parameters<typeof moveActionRequest>[1]): void {
  const moved = moveActionRequest(row.status, event)
  if (!moved.ok) throw new ChaperoneError(moved.code, { error: moved.detail, detail: moved.detail })
}
