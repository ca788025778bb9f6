import { ChaperoneError } from '../../../core/errors.ts'
import { HEADERS } from '../../../core/wire/limits.ts'
import type { Principal } from '../route.ts'

/**
 * Why a caller may only read. `page_secret`: the session of a browser without the secret of its page. `machine_token`: the
 * command line's token, which every program of the same user account can read, while approvals require a session.
 * `unchecked`: a session, agent key or enrolment token that was in force lately, while the database does not answer; only
 * routes that admit it get one. `break_glass`: the owner's token of a cluster, which is closed once a user with the role admin
 * has signed in; it may not read either.
 */
export type Restriction = 'page_secret' | 'machine_token' | 'unchecked' | 'break_glass'

const DETAIL: Readonly<Record<Restriction, string>> = {
  page_secret: `This session belongs to a page of the dashboard. Without the secret of that page (${HEADERS.pageSecret}) it reads what is no secret and activates the kill switch. Sign in again in the dashboard; a program signs in at /api/auth/login by itself.`,
  machine_token:
    'This requires a session of a user, because every program of this user account can read the token of the command line. Sign in with chaperone login and try again, or use the dashboard. chaperone up --approvals token turns this protection off.',
  break_glass:
    "The owner's token only activates the kill switch, because a user with the role admin has signed in. Use your own identity: kubectl chaperone, or sign in. In an emergency kubectl chaperone break-glass --for 1h opens the token.",
  unchecked:
    'The database does not answer, so this session, key or token cannot be checked: it can only activate the kill switch now. Try again in a moment.',
}

/** 403 for a restricted caller of a write. A handler that admits one calls this for the inputs that it does not admit. */
export function refuseRestricted(principal: Principal): void {
  const restriction = restrictionOf(principal)
  if (restriction === null) return
  const code = restriction === 'unchecked' ? 'not_ready' : 'forbidden'
  throw new ChaperoneError(code, { detail: DETAIL[restriction], extra: { restriction } })
}

export function restrictionOf(principal: Principal): Restriction | null {
  return 'restriction' in principal ? (principal.restriction ?? null) : null
}
