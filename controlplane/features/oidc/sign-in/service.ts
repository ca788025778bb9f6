import type { Logger } from 'pino'
import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import type { Passwords } from '../../../crypto/password.ts'
import { isSameHash, randomToken } from '../../../crypto/tokens.ts'
import type { Db, Query } from '../../../db/query.ts'
import { recordEvent } from '../../audit/events.ts'
import { type StartedSession, startSession } from '../../sessions/service.ts'
import { lockUser, type UserRow } from '../../users/rows.ts'
import type { Confirmed, Provider } from '../provider.ts'
import type { ProviderUsers } from '../users.ts'
import type { SignInRequest, SignInRequests, StartedRequest } from './requests.ts'
import { SignInError } from './sign-in-error.ts'
import { insertSignIn, takeSignIn } from './store.ts'

export type ProviderSignInDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  readonly passwords: Pick<Passwords, 'hash'>
  readonly provider: Provider
  readonly requests: SignInRequests
  readonly users: ProviderUsers
}

/**
 * Result of a callback of the provider. The page, or the command that listens on this port, can redeem the code once
 * within a minute.
 */
export type Answered = Pick<SignInRequest, 'loopbackPort'> & { readonly code: string; readonly email: string }

/**
 * Signs users in through the identity provider. The request is encrypted, the callback is bound to the browser, and the
 * code is bound to the page or command.
 */
export type ProviderSignIn = {
  /** Encrypts the sign-in request of a page or a command. */
  request(request: SignInRequest): string
  /**
   * Returns the address of the provider at which the user signs in, and the cookie that binds the callback to the
   * browser. Rejects with a SignInError.
   */
  begin(sealed: string, redirectUri: string): Promise<StartedRequest & { readonly url: string }>
  /**
   * Handles the callback of the provider. `callback` is the full address to which the provider redirected the browser.
   * Rejects with a SignInError.
   */
  answer(callback: URL, cookies: readonly string[]): Promise<Answered>
  /**
   * Redeems the code for a session. Throws `unauthorized` for a code that is unknown, used, older than a minute, or
   * issued to another page.
   */
  exchange(given: { readonly code: string; readonly secret: string }): Promise<StartedSession>
}

export function createProviderSignIn(deps: ProviderSignInDeps): ProviderSignIn {
  const { provider, requests } = deps
  return {
    request: requests.seal,
    begin: (sealed, redirectUri) =>
      logged(deps.log, async () => {
        const started = requests.begin(sealed)
        return { ...started, url: await provider.authorizationUrl(redirectUri, started.binding) }
      }),
    answer: (callback, cookies) => logged(deps.log, () => answer(deps, callback, cookies)),
    exchange: (given) => deps.db.tx((q) => exchange(q, deps, given)).then(orThrow),
  }
}

async function answer(
  deps: ProviderSignInDeps,
  callback: URL,
  cookies: readonly string[],
): Promise<Answered> {
  const [state, ...others] = callback.searchParams.getAll('state')
  if (state === undefined || others.length > 0) throw new SignInError('expired')
  const request = deps.requests.open(state, cookies)
  const confirmed = await deps.provider.redeem(callback, request.binding)
  const code = randomToken()
  const passwordHash = await deps.passwords.hash(randomToken(), 'identity provider')
  const user = await deps.db.tx((q) => accept(q, deps, { request, code, confirmed, passwordHash }))
  return { code, email: user.email, loopbackPort: request.loopbackPort }
}

async function accept(
  q: Query,
  { users }: ProviderSignInDeps,
  given: {
    readonly request: ReturnType<SignInRequests['open']>
    readonly code: string
    readonly confirmed: Confirmed
    readonly passwordHash: string
  },
): Promise<UserRow> {
  const { request, code, confirmed, passwordHash } = given
  const user = await users.signIn(q, confirmed, passwordHash)
  const isFirst = await insertSignIn(q, {
    idSha256: sha256(request.id),
    codeSha256: sha256(code),
    challenge: request.challenge,
    userId: user.id,
    isPage: request.loopbackPort === null,
  })
  if (!isFirst) throw new SignInError('expired')
  return user
}

/**
 * Redeems the code for a session. Returns null when the code is refused, instead of throwing, because the transaction
 * must commit to mark the code as used.
 */
async function exchange(
  q: Query,
  { orgId }: ProviderSignInDeps,
  { code, secret }: { readonly code: string; readonly secret: string },
): Promise<StartedSession | null> {
  const found = await takeSignIn(q, sha256(code))
  if (found === undefined) return null
  const isOfPage = isSameHash(sha256(secret), Buffer.from(found.challenge, 'base64url'))
  const user = isOfPage ? await lockUser(q, found.userId) : undefined
  if (user?.status !== 'active') return null
  const session = await startSession(q, user, found.isPage)
  await recordEvent(q, {
    orgId,
    actor: { kind: 'user', userId: user.id, label: user.email },
    type: 'user.login',
    details: { email: user.email, via: 'identity_provider' },
  })
  return session
}

function orThrow(session: StartedSession | null): StartedSession {
  if (session !== null) return session
  throw new ChaperoneError('unauthorized', {
    detail: 'This sign-in has expired, was used before, or was started in another page. Start again.',
  })
}

/**
 * Logs the cause of a failed sign-in. The cause may contain settings of the provider, so the page shows only the
 * remedy.
 */
async function logged<T>(log: Logger, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SignInError) {
      const { code, cause } = error
      const reason = cause instanceof Error ? cause.message : cause
      log.warn({ code, reason }, 'a sign-in through the identity provider failed, so no session was opened')
    }
    throw error
  }
}
