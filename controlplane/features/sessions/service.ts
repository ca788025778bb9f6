import { ChaperoneError } from '../../../core/errors.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import type { Passwords } from '../../crypto/password.ts'
import { randomToken } from '../../crypto/tokens.ts'
import type { Db, Query } from '../../db/query.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import { type Actor, actorOf, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { findUserByEmail, type UserRow } from '../users/rows.ts'
import { acceptSignIn, countSignIn, turnOf } from './attempts.ts'
import type { SignInDevices } from './devices.ts'
import type { SessionUser } from './rows.ts'
import { deleteSession, deleteSessionsOf, insertSession, SESSION_MAX_AGE_S, useSessions } from './store.ts'

export type StartedSession = {
  readonly sessionId: string
  /** Maximum lifetime of the session in seconds. */
  readonly maxAgeS: number
  readonly user: UserRow
  /** Secret that a dashboard page sends with every write; null for a session of another client. */
  readonly pageSecret: string | null
}

export type Sessions = {
  /**
   * Starts a session and returns its id for the cookie. A wrong e-mail address, a wrong password and a suspended user
   * cause the same 401.
   */
  login(input: {
    readonly email: string
    readonly password: string
    readonly address: string
    /** Values of cookies that may prove earlier sign-ins on this device. */
    readonly devices: readonly string[]
    /** True when a dashboard page signs in. The session is then bound to the page by a page secret. */
    readonly isPage: boolean
  }): Promise<StartedSession>
  logout(sessionId: string | undefined, user: UserPrincipal): Promise<void>
}

export function createSessions({
  db,
  orgId,
  passwords,
  devices,
}: {
  readonly db: Db
  readonly orgId: string
  readonly passwords: Passwords
  readonly devices: SignInDevices
}): Sessions {
  return {
    async login({ email, password, address, devices: shown, isPage }) {
      const attempt = { email, address, device: devices.find(email, shown) }
      const counted = await countSignIn(db, attempt)
      const user = await findUserByEmail(db, email)
      const isRight = await passwords.verify(password, user?.passwordHash, turnOf(attempt))
      if (!isRight || user?.status !== 'active') {
        const actor: Actor =
          user === undefined ? systemActor('sign-in') : { kind: 'user', userId: user.id, label: email }
        await recordEvent(db, { orgId, actor, type: 'user.login_failed', details: { email } })
        throw new ChaperoneError('unauthorized', { detail: 'E-mail address or password is wrong' })
      }
      return db.tx(async (q) => {
        const session = await startSession(q, user, isPage)
        await acceptSignIn(q, attempt, counted)
        await recordEvent(q, {
          orgId,
          actor: { kind: 'user', userId: user.id, label: email },
          type: 'user.login',
          details: { email: user.email },
        })
        return session
      })
    },
    async logout(sessionId, user) {
      await db.tx(async (q) => {
        if (sessionId !== undefined) await deleteSession(q, sha256(sessionId))
        await recordEvent(q, {
          orgId,
          actor: actorOf(user),
          type: 'user.logout',
          details: { email: user.email },
        })
      })
    },
  }
}

/** Inserts a session for the user. A session of a dashboard page also gets a page secret. */
export async function startSession(q: Query, user: UserRow, isPage: boolean): Promise<StartedSession> {
  const sessionId = randomToken()
  const pageSecret = isPage ? randomToken() : null
  const pageSecretHash = pageSecret === null ? null : sha256(pageSecret)
  await insertSession(q, { idHash: sha256(sessionId), userId: user.id, pageSecretHash })
  return { sessionId, maxAgeS: SESSION_MAX_AGE_S, user, pageSecret }
}

/** Ends all sessions of a user, in the transaction of the change that invalidates them. */
export function endSessionsOf(q: Query, userId: string): Promise<void> {
  return deleteSessionsOf(q, userId)
}

/** Returns the users of those sessions in the list that are valid, and stores that these sessions are in use. */
export function usersOfSessions(q: Query, idHashes: readonly Buffer[]): Promise<readonly SessionUser[]> {
  return useSessions(q, idHashes)
}
