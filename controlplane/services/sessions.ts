import { ChaperoneError } from '../../core/errors.ts'
import type { Passwords } from '../crypto/password.ts'
import { randomToken, sha256 } from '../crypto/tokens.ts'
import { recordEvent } from '../events.ts'
import type { UserPrincipal } from '../http/auth.ts'
import { type AttemptKey, countAttempt, forgetAttempts } from '../store/login-failures.ts'
import type { Db } from '../store/query.ts'
import { deleteSession, insertSession, SESSION_LIFE } from '../store/sessions.ts'
import { findUserByEmail, type UserRow } from '../store/users.ts'

export type Sessions = {
  /** The new session's id, for the cookie. 401 for a wrong e-mail, password or a suspended user: all the same. */
  login(input: { readonly email: string; readonly password: string; readonly address: string }): Promise<{
    readonly sessionId: string
    /** Seconds that the session lasts at most. */
    readonly maxAgeS: number
    readonly user: UserRow
  }>
  logout(sessionId: string | undefined, user: UserPrincipal): Promise<void>
}

/** Free attempts: from one address few, so that guessing is slow; in all many, so that nobody locks an owner out. */
const FREE_PER_ADDRESS = 5
const FREE_IN_ALL = 100

export function createSessions({
  db,
  orgId,
  passwords,
}: {
  readonly db: Db
  readonly orgId: string
  readonly passwords: Passwords
}): Sessions {
  return {
    async login({ email, password, address }) {
      const keys = attemptKeys(email, address)
      await refuseHurry(db, keys)
      const user = await findUserByEmail(db, email)
      const isRight = await passwords.verify(password, user?.passwordHash)
      if (!isRight || user?.status !== 'active') {
        const actor = { userId: user?.id, label: email }
        await recordEvent(db, { orgId, actor, type: 'user.login_failed', details: { email } })
        throw new ChaperoneError('unauthorized', { detail: 'E-mail address or password is wrong' })
      }
      const sessionId = randomToken()
      await db.tx(async (q) => {
        await insertSession(q, sha256(sessionId), user.id)
        await forgetAttempts(
          q,
          keys.map((key) => key.hash),
        )
        await recordEvent(q, {
          orgId,
          actor: { userId: user.id, label: email },
          type: 'user.login',
          details: { email: user.email },
        })
      })
      return { sessionId, maxAgeS: SESSION_LIFE.totalHours * 3_600, user }
    },
    async logout(sessionId, user) {
      const actor = { userId: user.userId, label: user.email }
      await db.tx(async (q) => {
        if (sessionId !== undefined) await deleteSession(q, sha256(sessionId))
        await recordEvent(q, { orgId, actor, type: 'user.logout', details: { email: user.email } })
      })
    },
  }
}

function attemptKeys(email: string, address: string): readonly AttemptKey[] {
  const who = email.toLowerCase()
  return [
    { hash: sha256(`${who}\n${address}`), free: FREE_PER_ADDRESS },
    { hash: sha256(who), free: FREE_IN_ALL },
  ]
}

async function refuseHurry(db: Db, keys: readonly AttemptKey[]): Promise<void> {
  for (const key of keys) {
    const waitS = await countAttempt(db, key)
    if (waitS === 0) continue
    throw new ChaperoneError('rate_limited', {
      error: 'Rate limit exceeded',
      detail: `Too many failed attempts to sign in: try again in ${waitS} s`,
      retryAfterS: waitS,
    })
  }
}
