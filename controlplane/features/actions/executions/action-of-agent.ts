import { ChaperoneError } from '../../../../core/errors.ts'
import { moveActionRequest } from '../../../../core/state/action-request.ts'
import type { ActionRow } from '../rows.ts'

/** An agent that calls the API, and the id of one of its action requests. */
export type OwnAction = { readonly agentId: string; readonly id: string }

/**
 * Reads an action request of the agent. A missing action request and an action request of another agent throw the same
 * `not_found`, so that the error does not disclose which ids exist.
 */
export async function ownAction(
  read: () => Promise<ActionRow | undefined>,
  { agentId, id }: OwnAction,
): Promise<ActionRow> {
  const row = await read()
  if (row !== undefined && row.agentId === agentId) return row
  throw new ChaperoneError('not_found', {
    error: 'Action request not found',
    detail: `This agent has no action request ${id.slice(0, 100)}. Check the id.`,
  })
}

/** Throws `conflict` or `gone` when the state of the action does not permit an event such as `cancel`. */
export function assertMovable(row: ActionRow, event: Parameters<typeof moveActionRequest>[1]): void {
  const moved = moveActionRequest(row.status, event)
  if (!moved.ok) throw new ChaperoneError(moved.code, { error: moved.detail, detail: moved.detail })
}
