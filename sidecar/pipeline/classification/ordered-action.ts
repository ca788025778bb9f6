/**
 * An action that the control plane ordered this gateway to execute. Its decision token is spent. The spent decision
 * token alone does not release a hold.
 */
export type OrderedAction = {
  readonly actionRequestId: string
  readonly actionType: string
  /** Approval of the action for the record; null when rules alone allowed it. */
  readonly approvalId: string | null
}
