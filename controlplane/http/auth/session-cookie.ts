import type { FastifyRequest } from 'fastify'

const SESSION_COOKIE = 'svc_session'
/** Maximum number of session ids that are read, more than a browser stores for one host. */
const MAX_IDS = 1_000

/**
 * Returns every session id in the request, in order. Cookies are shared between ports, and a server on another port of
 * the host can set a cookie with the same name, so none of them takes precedence before its session is found.
 */
export function sessionCookies(request: FastifyRequest): readonly string[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const values = pairs.filter(([name]) => name === SESSION_COOKIE).map(([, value]) => value ?? '')
  return [...new Set(values.filter((value) => value !== ''))].slice(0, MAX_IDS)
}

/** Returns `Set-Cookie` for a new session; a null `id` removes the cookie. `Secure` with TLS. */
export function setSessionCookie(id: string | null, maxAgeS: number, isSecure: boolean): string {
  const life = id === null ? 'Max-Age=0' : `Max-Age=${maxAgeS}`
  const flags = ['Path=/', life, 'HttpOnly', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])]
  return [`${SESSION_COOKIE}=${id ?? ''}`, ...flags].join('; ')
}
