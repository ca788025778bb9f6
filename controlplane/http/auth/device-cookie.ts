import type { FastifyRequest } from 'fastify'
import { sha256 } from '../../../runtime/sha256.ts'

const PREFIX = 'svc_device_'
/**
 * Maximum number of device cookies that are read from a request. A browser stores fewer cookies for one host. Browsers
 * share cookies between ports, so programs on other ports may add cookies.
 */
const MAX_VALUES = 1_000

/**
 * Returns every device proof of the account from the cookies of the request. A device proof shows that the
 * account has signed in from this browser before.
 */
export function deviceCookies(request: FastifyRequest, email: string): readonly string[] {
  const start = `${cookieName(email)}=`
  return (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
    .slice(0, MAX_VALUES)
}

/**
 * Returns `Set-Cookie` for the device proof of one account. The path limits the cookie to the sign-in endpoints.
 * `isSecure` adds the attribute `Secure`.
 */
export function setDeviceCookie(
  email: string,
  proof: { readonly value: string; readonly maxAgeS: number },
  isSecure: boolean,
): string {
  const flags = ['Path=/api/auth', `Max-Age=${proof.maxAgeS}`, 'HttpOnly', 'SameSite=Strict']
  return [`${cookieName(email)}=${proof.value}`, ...flags, ...(isSecure ? ['Secure'] : [])].join('; ')
}

function cookieName(email: string): string {
  return PREFIX + sha256(email.toLowerCase()).toString('hex').slice(0, 16)
}
