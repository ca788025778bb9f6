import type { FastifyRequest } from 'fastify'
import { sha256 } from '../crypto/tokens.ts'

const PREFIX = 'svc_device_'
/** Cookies know no ports: programs on other ports of the host may add some. */
const MAX_VALUES = 16

/** Every device proof that a browser sent, of whatever account. */
export function deviceCookies(request: FastifyRequest): readonly string[] {
  return (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(PREFIX))
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
    .slice(0, MAX_VALUES)
}

/** `Set-Cookie` for the proof of one account; sent to the paths of sign-in only. `Secure` behind TLS. */
export function setDeviceCookie(
  email: string,
  proof: { readonly value: string; readonly maxAgeS: number },
  isSecure: boolean,
): string {
  const name = PREFIX + sha256(email.toLowerCase()).toString('hex').slice(0, 16)
  const flags = ['Path=/api/auth', `Max-Age=${proof.maxAgeS}`, 'HttpOnly', 'SameSite=Strict']
  return [`${name}=${proof.value}`, ...flags, ...(isSecure ? ['Secure'] : [])].join('; ')
}
