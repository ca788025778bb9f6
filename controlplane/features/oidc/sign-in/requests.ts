import * as z from 'zod'
import { sha256Hex } from '../../../../runtime/sha256.ts'
import type { Keyring } from '../../../crypto/keyring.ts'
import { randomToken } from '../../../crypto/tokens.ts'
import type { Binding } from '../provider.ts'
import { SignInError } from './sign-in-error.ts'

/** Request for a sign-in, from a dashboard page or from a CLI command that listens on a loopback port. */
export type SignInRequest = {
  /**
   * SHA-256, in base64url, of a secret that only the page or command holds. The secret is necessary to redeem the code
   * of the sign-in.
   */
  readonly challenge: string
  readonly loopbackPort: number | null
}

export type StartedRequest = SignInRequest & {
  /** Value of the cookie that binds the callback of the provider to this browser. */
  readonly cookie: string
  readonly binding: Binding
}

export type SignInRequests = {
  /** Encrypts the sign-in request. The URL of the sign-in contains the encrypted request. */
  seal(request: SignInRequest): string
  /** Begins the sign-in in this browser. Throws `expired` for an old request. */
  begin(sealed: string): StartedRequest
  cookieName(state: string): string
  /**
   * Returns the sign-in request that a `state` contains. Throws `expired` for an old state, and `other_browser` when
   * the cookie does not match.
   */
  open(
    state: string,
    cookies: readonly string[],
  ): SignInRequest & { readonly id: string; readonly binding: Binding }
}

/** Time in milliseconds that a user has to sign in at the provider. */
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
 * Creates sign-in requests. The address of each step contains the encrypted state of the request instead of a database
 * id, so that an unauthenticated caller cannot fill the database.
 */
export function createSignInRequests(keyring: Keyring, nowMs: () => number): SignInRequests {
  const seal = (value: object): string =>
    Buffer.from(JSON.stringify(keyring.seal(JSON.stringify(value), PLACE))).toString('base64url')
  const unseal = <T extends { readonly endsAt: number }>(text: string, schema: z.ZodType<T>): T => {
    const value = schema.safeParse(openSealed(keyring, text))
    if (value.success && value.data.endsAt > nowMs()) return value.data
    throw new SignInError('expired')
  }
  // Nonce and PKCE verifier are derived from the master key, so that no address contains the verifier. The provider
  // receives the nonce and a hash of the verifier.
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
      const cookieSha256 = sha256Hex(cookie)
      const state = seal({ kind: 'state', challenge, loopbackPort, endsAt, id, cookieSha256 })
      return { challenge, loopbackPort, cookie, binding: bindingOf(state, id) }
    },
    cookieName: (state) => `svc_oidc_${sha256Hex(state).slice(0, 16)}`,
    open(state, cookies) {
      const { challenge, loopbackPort, id, cookieSha256 } = unseal(state, State)
      const isOurs = cookies.some((value) => sha256Hex(value) === cookieSha256)
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
