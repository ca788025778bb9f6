import { ChaperoneError } from '../../../core/errors.ts'
import { HEADERS } from '../../../core/wire/schema/limits.ts'
import type { Principal } from '../route.ts'

/**
 * Reason why a caller is read-only.
 *
 * - `page_secret`: a session of a dashboard page, without the page secret.
 * - `machine_token`: the token of the CLI, while approvals require a session. Every program of the same
 * operating system account can read this token.
 * - `unchecked`: a session, agent key or enrolment token that was valid recently, while the database does not
 * answer. Only routes that admit this restriction accept the caller.
 * - `break_glass`: the owner's token of a cluster, after a user with the role admin has signed in. This
 * restriction also forbids reads.
 */
export type Restriction = 'page_secret' | 'machine_token' | 'unchecked' | 'break_glass'

const DETAIL: Readonly<Record<Restriction, string>> = {
  page_secret: `This session belongs to a page of the dashboard. Without the page secret (${HEADERS.pageSecret}) it can only read data that is not secret, and activate the kill switch. Sign in again in the dashboard; a program must sign in at /api/auth/login itself.`,
  machine_token:
    'This request requires a session of a user, because every program of this user account can read the token of the command line. Sign in with chaperone login and try again, or use the dashboard; without an owner, chaperone owner-link prints the link to register. chaperone up --approvals token, or the setting APPROVALS=token of the control plane, disables this protection.',
  break_glass:
    "The owner's token can only activate the kill switch, because a user with the role admin has signed in. Use your own identity (kubectl chaperone, or sign in). In an emergency, kubectl chaperone break-glass --for 1h ends this restriction for an hour.",
  unchecked:
    'The database does not answer, so this session, key or token cannot be verified and can only activate the kill switch. Try again in a moment.',
}

/**
 * Throws `forbidden` for a restricted caller (`not_ready` for `unchecked`). The handler of a route with `admits`
 * calls this function for the inputs that a restricted caller may not send.
 */
export function refuseRestricted(principal: Principal): void {
  const restriction = restrictionOf(principal)
  if (restriction === null) return
  const code = restriction === 'unchecked' ? 'not_ready' : 'forbidden'
  throw new ChaperoneError(code, { detail: DETAIL[restriction], extra: { restriction } })
}

export function restrictionOf(principal: Principal): Restriction | null {
  return 'restriction' in principal ? (principal.restriction ?? null) : null
}
