import type { StartedSession } from '../../features/sessions/service.ts'
import type { RouteResult } from '../route.ts'
import { setSessionCookie } from './session-cookie.ts'

type SessionBody<More> = More & { readonly ok: true; readonly page_secret?: string }

/** Returns the response that starts a session: its cookie and, for a session of a dashboard page, the page secret. */
export function beginSession<More extends object>(
  { sessionId, maxAgeS, pageSecret }: StartedSession,
  isSecure: boolean,
  more: More,
): RouteResult<SessionBody<More>> {
  const secret = pageSecret === null ? {} : { page_secret: pageSecret }
  const cookie = setSessionCookie(sessionId, maxAgeS, isSecure)
  return { status: 200, body: { ok: true as const, ...more, ...secret }, headers: { 'set-cookie': cookie } }
}
