import type { Logger } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import type { Db } from '../../db/query.ts'
import { claimIdentity, releaseIdentity, type UserIdentity } from './identity-store.ts'
import type { Provider } from './provider.ts'
import { type IdentityState, identityState } from './rows.ts'
import { SignInError } from './sign-in/sign-in-error.ts'
import type { ProviderUsers } from './users.ts'

/**
 * Result of an access check. `changed`: the provider confirmed the user in this call, and the user's rights may have
 * changed.
 */
export type ConfirmedAccess = 'unchanged' | 'changed' | 'ended'

/**
 * Returns whether a user who signed in before still has access. Uses a confirmation of the provider that is at most
 * five minutes old. Rejects with `not_ready` when the provider does not answer.
 */
export type ConfirmAccess = (user: {
  readonly id: string
  readonly identity: IdentityState
}) => Promise<ConfirmedAccess>

/**
 * Creates the function that checks whether users still have access. Without a configured provider, users of a provider
 * have no access. Users with a password have access if `isPasswordOn` is true.
 */
export function createConfirmAccess(confirmUser: ConfirmUser | null, isPasswordOn: boolean): ConfirmAccess {
  const states: Readonly<Record<IdentityState, ConfirmedAccess | 'ask'>> = {
    none: isPasswordOn ? 'unchanged' : 'ended',
    ended: 'ended',
    confirmed: confirmUser === null ? 'ended' : 'unchanged',
    stale: confirmUser === null ? 'ended' : 'ask',
  }
  return async ({ id, identity }) => {
    const state = states[identity]
    if (state !== 'ask') return state
    return (await confirmUser?.(id)) === true ? 'changed' : 'ended'
  }
}

/**
 * Confirms a user at the provider when the last confirmation is older than five minutes. Resolves to false when the
 * provider no longer confirms the user.
 */
export type ConfirmUser = (userId: string) => Promise<boolean>

const POLL_MS = 100
/**
 * Time limit of a confirmation in milliseconds. The limit exceeds the time for which another replica may claim the
 * confirmation of the same user.
 */
const PATIENCE_MS = 16_000

export type ConfirmationDeps = {
  readonly db: Db
  readonly log: Logger
  readonly provider: Provider
  readonly users: ProviderUsers
}

/**
 * Creates the function that confirms users at the provider and applies their current groups. Ends all sessions of a
 * user whom the provider has removed. Sends one request at a time per user.
 */
export function createConfirmation(deps: ConfirmationDeps): ConfirmUser {
  const running = new Map<string, Promise<boolean>>()
  return (userId) => {
    const known = running.get(userId)
    if (known !== undefined) return known
    const work = untilConfirmed(deps, userId).finally(() => running.delete(userId))
    running.set(userId, work)
    return work
  }
}

async function untilConfirmed(deps: ConfirmationDeps, userId: string): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    const claimed = await claimIdentity(deps.db, userId)
    if (claimed !== undefined) return await confirm(deps, claimed)
    const state = await identityState(deps.db, userId)
    if (state !== 'stale') return state === 'confirmed'
    await sleep(POLL_MS)
  }
  throw unreachable()
}

async function confirm(deps: ConfirmationDeps, claimed: UserIdentity): Promise<boolean> {
  const { db, provider, users } = deps
  const { userId, subject } = claimed
  try {
    const confirmed = await provider.confirm(users.openTokens(claimed), subject)
    await db.tx((q) => users.confirm(q, userId, confirmed))
    return true
  } catch (error) {
    return await unconfirmed(deps, claimed, error)
  }
}

/** Ends the user's access and returns false. Throws when the provider did not answer. */
async function unconfirmed(
  { db, log, users }: ConfirmationDeps,
  claimed: UserIdentity,
  error: unknown,
): Promise<false> {
  const { userId } = claimed
  const { code, cause } = error instanceof SignInError ? error : { code: null, cause: error }
  const reason = cause instanceof Error ? cause.message : undefined
  log.warn(
    { user_id: userId, code, reason },
    'the identity provider did not confirm a user; unless it is unreachable, the access of the user ends',
  )
  if (code === null || code === 'unreachable') {
    await releaseIdentity(db, userId)
    throw code === null ? error : unreachable(error)
  }
  await db.tx((q) => users.end(q, claimed, code))
  return false
}

function unreachable(cause?: unknown): ChaperoneError {
  return new ChaperoneError('not_ready', {
    detail:
      'The identity provider does not answer, so this session cannot be confirmed and can only activate the kill switch. Try again in a moment.',
    retryAfterS: 5,
    cause,
  })
}
