import type { FastifyRequest } from 'fastify'

export const SESSION_COOKIE = 'svc_session'

/** The session id a browser sent. When a cookie is sent twice, neither is believed. */
export function sessionCookie(request: FastifyRequest): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='))
  const values = pairs.filter(([name]) => name === SESSION_COOKIE).map(([, value]) => value)
  return values.length === 1 && values[0] ? values[0] : undefined
}

/** `Set-Cookie` for a new session, or for the end of one (`id` null). `Secure` behind TLS. */
export function setSessionCookie(id: string | null, maxAgeS: number, isSecure: boolean): string {
  const life = id === null ? 'Max-Age=0' : `Max-Age=${maxAgeS}`
  const flags = ['Path=/', life, 'HttpOnly', 'SameSite=Lax', ...(isSecure ? ['Secure'] : [])]
  return [`${SESSION_COOKIE}=${id ?? ''}`, ...flags].join('; ')
}
