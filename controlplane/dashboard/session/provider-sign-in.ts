import { type ApiError, asApiError, ApiError as Failure } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { signInErrorText } from './sign-in-errors.ts'

/** What this tab keeps while the user is at the provider. The secret belongs to the origin, port included. */
type Pending = { readonly secret: string; readonly place: string; readonly setupToken: string | null }

const KEY = 'chaperone.provider-sign-in'
/** Where the control plane leads back to, with a code or the reason of a failure. */
const RETURN = /^#\/signed-in\?(.*)$/

/** Leaves the page for the identity provider. Rejects where the control plane does not answer. */
export async function startProviderSignIn(setupToken: string | null): Promise<void> {
  // Browsers hash only on https and loopback, where alone the provider leads back to anyway.
  if (!isSecureContext)
    throw new Failure(
      0,
      'Sign-in through the identity provider needs https: open this page by its https address.',
    )
  const secret = base64url(crypto.getRandomValues(new Uint8Array(32)))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))
  const { url } = await call('POST /api/auth/oidc/start', {
    body: { challenge: base64url(new Uint8Array(hash)) },
  })
  const pending: Pending = { secret, place: placeBehind(location.hash), setupToken }
  sessionStorage.setItem(KEY, JSON.stringify(pending))
  location.assign(url)
}

/** Ends a sign-in that has come back to this page; null where there is none, or when it worked. */
export async function finishProviderSignIn(): Promise<ApiError | null> {
  const query = RETURN.exec(location.hash)?.[1]
  if (query === undefined) return null
  const pending = takePending()
  // The code has to leave the address and the history before anything else.
  history.replaceState(null, '', `/${pending?.place ?? ''}`)
  const answer = new URLSearchParams(query)
  const code = answer.get('code')
  if (code === null) return new Failure(400, signInErrorText(answer.get('error') ?? ''))
  if (pending === null) return new Failure(400, signInErrorText('other_browser'))
  try {
    await call('POST /api/auth/oidc/exchange', { body: { code, secret: pending.secret } })
    const { setupToken } = pending
    if (setupToken !== null) await call('POST /api/auth/owner', { body: { setup_token: setupToken } })
    return null
  } catch (error) {
    return asApiError(error)
  }
}

function takePending(): Pending | null {
  const text = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  return text === null ? null : (JSON.parse(text) as Pending)
}

/** The page that was asked for, without an answer of an earlier sign-in. */
function placeBehind(hash: string): string {
  return RETURN.test(hash) ? '' : hash
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
