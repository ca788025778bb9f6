import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Keyring } from '../../crypto/keyring.ts'
import { randomToken, sha256 } from '../../crypto/tokens.ts'
import type { Binding } from './provider.ts'
import { SignInError } from './sign-in-error.ts'

/** Request of a sign-in: by a page of the dashboard, or by a command that listens on a port of its own machine. */
export type SignInRequest = {
  /** SHA-256 of the secret of the page or command, base64url: only the holder of the secret can exchange the code. */
  readonly challenge: string
  readonly loopbackPort: number | null
}

export type StartedRequest = SignInRequest & {
  /** Value of the cookie that binds the callback to this browser. */
  readonly cookie: string
  readonly binding: Binding
}

export type SignInRequests = {
  /** Returns a sealed request for the address that begins the sign-in. */
  seal(request: SignInRequest): string
  /** Begins the sign-in in this browser. Throws `expired`. */
  begin(sealed: string): StartedRequest
  /** Returns the name of the cookie of a state. */
  cookieName(state: string): string
  /** Returns the request of the state. Throws `expired`, and `other_browser` without the cookie's value. */
  open(
    state: string,
    cookies: readonly string[],
  ): SignInRequest & { readonly id: string; readonly binding: Binding }
}

/** Milliseconds that a user has for the sign-in at the provider. */
const LIFE_MS = 10 * 60_000
export const SIGN_IN_LIFE_S = LIFE_MS / 1_000

const Request = z.strictObject({
  kind: z.literal('request'),
  challenge: z.string(),
  loopbackPort: z.int().nullable(),
  endsAt: z.number(),
})
const State = z.strictObject({
  kind: z.literal('state'),
  challenge: z.string(),
  loopbackPort: z.int().nullable(),
  endsAt: z.number(),
  id: z.string(),
  cookieSha256: z.string(),
})

/**
 * Creates sign-in requests. The addresses carry their sealed state, so that nothing is stored before a user has signed
 * in.
 */
export function createSignInRequests(keyring: Keyring, nowMs: () => number): SignInRequests {
  const seal = (value: object): string =>
    Buffer.from(JSON.stringify(keyring.seal(JSON.stringify(value), PLACE))).toString('base64url')
  const unseal = <T extends { readonly endsAt: number }>(text: string, schema: z.ZodType<T>): T => {
    const value = schema.safeParse(openSealed(keyring, text))
    if (value.success && value.data.endsAt > nowMs()) return value.data
    throw new SignInError('expired')
  }
  // The values are derived, so that no address contains them: the provider receives only a hash of the verifier, and
  // the nonce.
  const bindingOf = (state: string, id: string): Binding => ({
    state,
    nonce: keyring.derive(`nonce of sign-in ${id}`).toString('base64url'),
    verifier: keyring.derive(`PKCE verifier of sign-in ${id}`).toString('base64url'),
  })
  return {
    seal: (request) => seal({ kind: 'request', ...request, endsAt: nowMs() + LIFE_MS }),
    begin(sealed) {
      const { challenge, loopbackPort, endsAt } = unseal(sealed, Request)
      const [id, cookie] = [randomToken(), randomToken()]
      const cookieSha256 = sha256(cookie).toString('hex')
      const state = seal({ kind: 'state', challenge, loopbackPort, endsAt, id, cookieSha256 })
      return { challenge, loopbackPort, cookie, binding: bindingOf(state, id) }
    },
    cookieName: (state) => `svc_oidc_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`,
    open(state, cookies) {
      const { challenge, loopbackPort, id, cookieSha256 } = unseal(state, State)
      const isOurs = cookies.some((value) => sha256(value).toString('hex') === cookieSha256)
      if (!isOurs) throw new SignInError('other_browser')
      return { id, challenge, loopbackPort, binding: bindingOf(state, id) }
    },
  }
}

const PLACE = 'sign-in through the identity provider'

function openSealed(keyring: Keyring, text: string): unknown {
  try {
    return JSON.parse(keyring.open(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')), PLACE))
  } catch {
    return null
  }
}
