import type { Transition } from './approval.ts'

export const ACTION_REQUEST_STATES = [
  'pending_approval',
  'allowed',
  'denied',
  'cancelled',
  'expired',
  'executed',
  'execution_failed',
] as const

export type ActionRequestState = (typeof ACTION_REQUEST_STATES)[number]

export type ActionRequestEvent = 'approve' | 'deny' | 'expire' | 'cancel' | 'hold' | 'execute' | 'fail'

/**
 * Transitions of a v1 action request; all others are refused. `allowed` means that a decision token may be issued. The
 * state stays `allowed` after the token expires, because the state reports the decision. The event `hold` means that a
 * gateway held the execution.
 */
const MOVES: Readonly<Record<ActionRequestState, Partial<Record<ActionRequestEvent, ActionRequestState>>>> = {
  pending_approval: { approve: 'allowed', deny: 'denied', expire: 'expired', cancel: 'cancelled' },
  allowed: { cancel: 'cancelled', hold: 'pending_approval', execute: 'executed', fail: 'execution_failed' },
  denied: {},
  cancelled: {},
  expired: {},
  executed: {},
  execution_failed: {},
}

/**
 * Returns the next state, `gone` (410) for an answer after the expiry, or `conflict` (409) for any other invalid event.
 */
export function moveActionRequest(
  state: ActionRequestState,
  event: ActionRequestEvent,
): Transition<ActionRequestState> {
  const next = MOVES[state][event]
  if (next !== undefined) return { ok: true, state: next }
  if (state === 'expired' && (event === 'approve' || event === 'deny')) {
    return {
      ok: false,
      code: 'gone',
      detail: 'The approval has expired. Submit the action again.',
    }
  }
  return { ok: false, code: 'conflict', detail: refusalText(state, event) }
}

const VERB: Readonly<Record<ActionRequestEvent, string>> = {
  approve: 'approved',
  deny: 'denied',
  expire: 'expired',
  cancel: 'cancelled',
  hold: 'held',
  execute: 'executed',
  fail: 'executed',
}

function refusalText(state: ActionRequestState, event: ActionRequestEvent): string {
  const isExecution = event === 'execute' || event === 'fail'
  if (isExecution && state === 'pending_approval') {
    return 'The action still waits for an approval. After the approval, read the action to get its decision token, and execute the action with this token.'
  }
  return `The action is ${state} and cannot be ${VERB[event]}. Submit a new action instead.`
}
