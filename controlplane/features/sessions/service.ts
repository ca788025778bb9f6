import { ChaperoneError } from '../../../core/errors.ts'
import type { Passwords } from '../../crypto/password.ts'
import { randomToken, sha256 } from '../../crypto/tokens.ts'
import type { Db, Query } from '../../db/query.ts'
import { actorOf, recordEvent } from '../../events.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import { type Actor, systemActor } from '../audit/store.ts'
import { findUserByEmail, type UserRow } from '../users/store.ts'
import { acceptSignIn, countSignIn, turnOf } from './attempts.ts'
import type { SignInDevices } from './devices.ts'
import { deleteSession, insertSession, SESSION_MAX_AGE_S } from './store.ts'

export type StartedSession = {
  readonly sessionId: string
  /** Seconds that the session lasts at most. */
  readonly maxAgeS: number
  readonly user: UserRow
  /** What a page sends with every write; null for a plain client. */
  readonly pageSecret: string | null
}

export type Sessions = {
  /** The new session's id, for the cookie. 401 for a wrong e-mail, password or a suspended user: all the same. */
  login(input: {
    readonly email: string
    readonly password: string
    readonly address: string
    /** What the client shows as proof of earlier sign-ins. */
    readonly devices: readonly string[]
    /** Binds the session to the page that signs in. */
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

/** Inserts a session for the user, with the secret of its page when it belongs to one. */
export async function startSession(q: Query, user: UserRow, isPage: boolean): Promise<StartedSession> {
  const sessionId = randomToken()
  const pageSecret = isPage ? randomToken() : null
  const pageSecretHash = pageSecret === null ? null : sha256(pageSecret)
  await insertSession(q, { idHash: sha256(sessionId), userId: user.id, pageSecretHash })
  return { sessionId, maxAgeS: SESSION_MAX_AGE_S, user, pageSecret }
}
