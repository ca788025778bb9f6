import type { ErrorCode } from '../errors.ts'
import type { ApprovalStatus } from '../wire/gateway/internal.ts'

export type ApprovalEvent = 'approve' | 'deny' | 'expire' | 'cancel'

/**
 * Next state, or the reason why the event is refused: `gone` (410) after the expiry, `conflict` (409) after an answer
 * or a cancellation.
 */
export type Transition<S> =
  | { readonly ok: true; readonly state: S }
  | { readonly ok: false; readonly code: Extract<ErrorCode, 'conflict' | 'gone'>; readonly detail: string }

const NEXT: Readonly<Record<ApprovalEvent, ApprovalStatus>> = {
  approve: 'approved',
  deny: 'denied',
  expire: 'expired',
  cancel: 'cancelled',
}

/**
 * Returns the next state of an approval. Only a pending approval changes, and only once. The caller compares
 * `expires_at` with the clock of the database, and applies `expire` first if the time is past.
 */
export function moveApproval(state: ApprovalStatus, event: ApprovalEvent): Transition<ApprovalStatus> {
  if (state === 'pending') return { ok: true, state: NEXT[event] }
  if (state === 'expired') return { ok: false, code: 'gone', detail: EXPIRED }
  return { ok: false, code: 'conflict', detail: RESOLVED[state] }
}

const EXPIRED = 'The approval has expired. The agent must send the request again.'

const RESOLVED: Readonly<Record<Exclude<ApprovalStatus, 'pending' | 'expired'>, string>> = {
  approved: 'The approval was already approved. An answer counts once and cannot be changed.',
  denied: 'The approval was already denied. An answer counts once and cannot be changed.',
  cancelled:
    'The approval was cancelled, because the agent withdrew its request, a kill switch was activated, or the access that the approval gave was revoked. No answer is required.',
}
