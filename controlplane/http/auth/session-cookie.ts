import type { FastifyRequest } from 'fastify'

const SESSION_COOKIE = 'svc_session'
/** Maximum number of session ids that are read from a request. A browser stores fewer cookies for one host. */
const MAX_IDS = 1_000

/**
 * Returns every session id of the request, in order. Browsers share cookies between the ports of a host, so a server on
 * another port may have set a cookie with the same name. The caller must therefore look up every id.
 */
export function sessionCookies(request: FastifyRequest): readonly string[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const values = pairs.filter(([name]) => name === SESSION_COOKIE).map(([, value]) => value ?? '')
  return [...new Set(values.filter((value) => value !== ''))].slice(0, MAX_IDS)
}

/** Returns `Set-Cookie` for a new session. A null `id` deletes the cookie. `isSecure` adds the attribute `Secure`. */
export function setSessionCookie(id: string | null, maxAgeS: number, isSecure: boolean): string {
  const life = id === null ? 'Max-Age=0' : `Max-Age=${maxAgeS}`
  const flags = ['Path=/', life, 'HttpOnly', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])]
  return [`${SESSION_COOKIE}=${id ?? ''}`, ...flags].join('; ')
}
