import type { FastifyRequest } from 'fastify'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  BeginSignInQuery,
  ExchangeBody,
  SessionReply,
  SignInCallbackQuery,
  StartSignInBody,
  StartSignInReply,
} from '../../../core/wire/access/sessions.ts'
import type { SignInErrorCode } from '../../../core/wire/access/sign-in.ts'
import { cookieValues, setOidcCallbackCookie } from '../../http/auth/oidc-callback-cookie.ts'
import { beginSession } from '../../http/auth/session-reply.ts'
import { createRateWindow, type RateWindow } from '../../http/rate-window.ts'
import { type Route, type RouteResult, route } from '../../http/route.ts'
import { networkOf } from '../sessions/attempts.ts'
import type { StartedSession } from '../sessions/service.ts'
import type { Oidc } from './service.ts'
import { confirmationPage, PAGE_HEADERS } from './sign-in/page.ts'
import { SIGN_IN_LIFE_S } from './sign-in/requests.ts'
import { SignInError } from './sign-in/sign-in-error.ts'

export type OidcRoutesDeps = {
  readonly oidc: Oidc | null
  /** Whether browsers connect over TLS. */
  readonly isSecure: boolean
  /**
   * Returns the address of the dashboard, without a slash at the end. The redirect URI that is registered at the
   * provider begins with this address.
   */
  readonly baseUrl: () => string
}

type Deps = Omit<OidcRoutesDeps, 'oidc'> & {
  readonly oidc: Pick<Oidc, 'signIn' | 'cookieName'>
  readonly attempts: RateWindow
}

/**
 * Rate limit in requests per minute and network (address prefix). A whole office may share one network, and a sign-in
 * takes four requests.
 */
const ATTEMPTS_PER_MINUTE = 600
const CALLBACK = '/api/auth/oidc/callback'

/**
 * Creates the routes of the sign-in through the identity provider. The routes answer 404 when no provider is
 * configured.
 */
export function createOidcRoutes({ oidc: given, ...web }: OidcRoutesDeps): readonly Route[] {
  const oidc = given ?? ABSENT
  const deps = { ...web, oidc, attempts: createRateWindow(ATTEMPTS_PER_MINUTE, () => performance.now()) }
  return [start(deps), begin(deps), callback(deps), exchange(deps)]
}

const ABSENT: Deps['oidc'] = {
  signIn: { request: absent, begin: absent, answer: absent, exchange: absent },
  cookieName: absent,
}

function absent(): never {
  throw new ChaperoneError('not_found', {
    detail:
      'This installation has no identity provider. Sign in with e-mail address and password, or set OIDC_ISSUER.',
  })
}

function start(deps: Deps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/oidc/start',
    auth: 'none',
    summary:
      'Prepares a sign-in through the identity provider: `challenge` is the SHA-256 of a secret that the page or command keeps for the exchange. Returns the URL to open',
    body: StartSignInBody,
    statuses: [403, 404, 429],
    response: StartSignInReply,
    handler: async ({ body, raw }) => {
      countAttempt(deps, raw.request)
      refuseOtherAddress(deps, raw.request)
      const { challenge, loopback_port: loopbackPort = null } = body
      const request = deps.oidc.signIn.request({ challenge, loopbackPort })
      return { ok: true as const, url: `${deps.baseUrl()}/api/auth/oidc/begin?request=${request}` }
    },
  })
}

function begin(deps: Deps): Route {
  const { oidc, baseUrl, isSecure } = deps
  return route({
    method: 'GET',
    path: '/api/auth/oidc/begin',
    auth: 'none',
    summary: 'Binds the sign-in to this browser by a cookie and redirects to the identity provider',
    query: BeginSignInQuery,
    produces: 'text/html',
    statuses: [302, 404, 429],
    handler: ({ query, raw }) =>
      redirecting(deps, async () => {
        countAttempt(deps, raw.request)
        const started = await oidc.signIn.begin(query.request, baseUrl() + CALLBACK)
        const name = oidc.cookieName(started.binding.state)
        const cookie = setOidcCallbackCookie(
          name,
          { value: started.cookie, maxAgeS: SIGN_IN_LIFE_S },
          isSecure,
        )
        return redirect(started.url, cookie)
      }),
  })
}

function callback(deps: Deps): Route {
  const { oidc, baseUrl, isSecure } = deps
  return route({
    method: 'GET',
    path: CALLBACK,
    auth: 'none',
    summary:
      'Receives the answer of the identity provider and redirects to the page, with a code in the fragment that can be exchanged once within 60 s',
    query: SignInCallbackQuery,
    produces: 'text/html',
    statuses: [302, 404, 429],
    handler: ({ raw }) =>
      redirecting(deps, async () => {
        countAttempt(deps, raw.request)
        const address = new URL(baseUrl() + CALLBACK)
        address.search = raw.request.url.split('?').slice(1).join('?')
        const name = oidc.cookieName(address.searchParams.get('state') ?? '')
        const answered = await oidc.signIn.answer(address, cookieValues(raw.request, name))
        const done = setOidcCallbackCookie(name, null, isSecure)
        if (answered.loopbackPort === null) return redirect(pageUrl(deps, { code: answered.code }), done)
        const body = confirmationPage({ ...answered, loopbackPort: answered.loopbackPort })
        return { status: 200, body, headers: { ...PAGE_HEADERS, 'set-cookie': done } }
      }),
  })
}

function exchange({ oidc, isSecure, ...deps }: Deps): Route {
  return route({
    method: 'POST',
    path: '/api/auth/oidc/exchange',
    auth: 'none',
    summary:
      'Exchanges the code of a sign-in, once and with the secret of its page, for a session like that of /api/auth/login',
    body: ExchangeBody,
    statuses: [401, 403, 404, 429],
    response: SessionReply,
    handler: async ({ body, raw }) => {
      countAttempt(deps, raw.request)
      refuseOtherAddress(deps, raw.request)
      const session: StartedSession = await oidc.signIn.exchange(body)
      const { id, email, role } = session.user
      return beginSession(session, isSecure, { user: { id, email, role } })
    },
  })
}

function countAttempt({ attempts }: Pick<Deps, 'attempts'>, { ip }: FastifyRequest): void {
  const taken = attempts.hit(networkOf(ip))
  if (taken.ok) return
  throw new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: `Too many sign-ins from this network. Try again in ${taken.retryAfterS} s.`,
    retryAfterS: taken.retryAfterS,
  })
}

/**
 * Throws for a request from a page whose origin is not that of the callback. The page stores the secret of its sign-in
 * request in the browser, which separates storage by origin. A page of another origin could therefore not redeem the
 * code of the sign-in.
 */
function refuseOtherAddress({ baseUrl }: Pick<Deps, 'baseUrl'>, { headers }: FastifyRequest): void {
  const { origin, 'sec-fetch-site': site = 'same-origin' } = headers
  const own = new URL(baseUrl()).origin
  if (site === 'same-origin' && (origin === undefined || origin === own)) return
  throw new ChaperoneError('forbidden', {
    detail: `Sign-in through the identity provider works at ${own} only. Open the dashboard at that address.`,
  })
}

function redirect(location: string, cookie?: string): RouteResult {
  const cookies = cookie === undefined ? {} : { 'set-cookie': cookie }
  return { status: 302, body: '', headers: { ...PAGE_HEADERS, location, ...cookies } }
}

/**
 * Redirects the browser to the sign-in page after every failed step. The sign-in page has a message for each error
 * code.
 */
async function redirecting(
  deps: Pick<Deps, 'baseUrl'>,
  work: () => Promise<RouteResult>,
): Promise<RouteResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SignInError) return redirect(pageUrl(deps, { error: error.code }))
    throw error
  }
}

type Fragment = { readonly code: string } | { readonly error: SignInErrorCode }

function pageUrl({ baseUrl }: Pick<Deps, 'baseUrl'>, fragment: Fragment): string {
  return `${baseUrl()}/#/signed-in?${new URLSearchParams(fragment)}`
}
