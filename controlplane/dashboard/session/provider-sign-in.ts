import { type ApiError, asApiError, ApiError as Failure } from '../api/api-error.ts'
import { call } from '../api/client.ts'
import { signInErrorText } from './sign-in-errors.ts'

/**
 * State of a sign-in while the user is at the identity provider. The state is in sessionStorage, which is bound to the
 * origin with its port.
 */
type Pending = { readonly secret: string; readonly page: string; readonly setupToken: string | null }

const KEY = 'chaperone.provider-sign-in'
/** Matches the URL fragment to which the control plane redirects, with a code or an error. */
const RETURN = /^#\/signed-in\?(.*)$/

/** Navigates to the identity provider. Rejects if the control plane does not respond. */
export async function startProviderSignIn(setupToken: string | null): Promise<void> {
  // Browsers provide SHA-256 only for pages with https and on loopback. The identity provider redirects only to such
  // addresses.
  if (!isSecureContext)
    throw new Failure(
      0,
      'Sign-in through the identity provider requires HTTPS. Open this page with an https address.',
    )
  const secret = base64url(crypto.getRandomValues(new Uint8Array(32)))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))
  const { url } = await call('POST /api/auth/oidc/start', {
    body: { challenge: base64url(new Uint8Array(hash)) },
  })
  const pending: Pending = { secret, page: requestedPage(location.hash), setupToken }
  sessionStorage.setItem(KEY, JSON.stringify(pending))
  location.assign(url)
}

/**
 * Completes a sign-in after the identity provider has redirected to this page. Resolves with the error; null after a
 * success, and when the URL contains no result of a sign-in.
 */
export async function finishProviderSignIn(): Promise<ApiError | null> {
  const query = RETURN.exec(location.hash)?.[1]
  if (query === undefined) return null
  const pending = takePending()
  // Removes the sign-in code from the URL and the browser history before the code is sent.
  history.replaceState(null, '', `/${pending?.page ?? ''}`)
  const result = new URLSearchParams(query)
  const code = result.get('code')
  if (code === null) return new Failure(400, signInErrorText(result.get('error') ?? ''))
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

/** Returns the page in the fragment of the URL; empty when the fragment is the result of an earlier sign-in. */
function requestedPage(hash: string): string {
  return RETURN.test(hash) ? '' : hash
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
