import type { FastifyRequest } from 'fastify'

export const SESSION_COOKIE = 'svc_session'
/** More than a browser keeps for one host. */
const MAX_IDS = 1_000

/**
 * Every session id that the request carries, in its order. Cookies know no ports: a server on another port of the same
 * host can set a second cookie of this name, so that none of them is preferred before its session is found.
 */
export function sessionCookies(request: FastifyRequest): readonly string[] {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const values = pairs.filter(([name]) => name === SESSION_COOKIE).map(([, value]) => value ?? '')
  return [...new Set(values.filter((value) => value !== ''))].slice(0, MAX_IDS)
}

/** `Set-Cookie` for a new session, or for the end of one (`id` null). `Secure` behind TLS. */
export function setSessionCookie(id: string | null, maxAgeS: number, isSecure: boolean): string {
  const life = id === null ? 'Max-Age=0' : `Max-Age=${maxAgeS}`
  const flags = ['Path=/', life, 'HttpOnly', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])]
  return [`${SESSION_COOKIE}=${id ?? ''}`, ...flags].join('; ')
}
