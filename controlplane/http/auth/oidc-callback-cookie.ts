import type { FastifyRequest } from 'fastify'

/** Every value of this cookie: servers on other ports of the host may have set one of the same name. */
export function cookieValues(request: FastifyRequest, name: string): readonly string[] {
  return (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
    .slice(0, 16)
}

/**
 * `Set-Cookie` for the browser that goes to the identity provider, or for its removal (null). `Lax`, because the provider
 * sends the browser back from its own site. `Secure` behind TLS.
 */
export function setOidcCallbackCookie(
  name: string,
  cookie: { readonly value: string; readonly maxAgeS: number } | null,
  isSecure: boolean,
): string {
  const flags = ['Path=/api/auth/oidc', `Max-Age=${cookie?.maxAgeS ?? 0}`, 'HttpOnly', 'SameSite=Lax']
  return [`${name}=${cookie?.value ?? ''}`, ...flags, ...(isSecure ? ['Secure'] : [])].join('; ')
}
