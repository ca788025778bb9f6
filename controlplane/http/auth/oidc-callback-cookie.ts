import type { FastifyRequest } from 'fastify'

/**
 * Returns every value of the cookie, because servers on other ports of the host may have set cookies with the same
 * name.
 */
export function cookieValues(request: FastifyRequest, name: string): readonly string[] {
  return (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
    .slice(0, 16)
}

/**
 * Returns `Set-Cookie` for the cookie that binds the callback of the identity provider to the browser. If `cookie` is
 * null, deletes the cookie. `SameSite` is `Lax`, because the callback is a cross-site navigation. `isSecure` adds the
 * attribute `Secure`.
 */
export function setOidcCallbackCookie(
  name: string,
  cookie: { readonly value: string; readonly maxAgeS: number } | null,
  isSecure: boolean,
): string {
  const flags = ['Path=/api/auth/oidc', `Max-Age=${cookie?.maxAgeS ?? 0}`, 'HttpOnly', 'SameSite=Lax']
  return [`${name}=${cookie?.value ?? ''}`, ...flags, ...(isSecure ? ['Secure'] : [])].join('; ')
}
