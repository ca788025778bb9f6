import { ChaperoneError } from '../../../core/errors.ts'
import type { Passwords } from '../../crypto/password.ts'
import type { Db } from '../../db/query.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import { validationError } from '../../http/input.ts'
import { actorOf } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { countPasswordCheck, deletePasswordChecks } from '../sessions/attempts.ts'
import { endSessionsOf, type StartedSession, startSession } from '../sessions/service.ts'
import { endApproverKeys } from './approver-keys/service.ts'
import { getUser, lockUser, type UserRow } from './rows.ts'
import { setPasswordHash } from './store.ts'

export type PasswordChange = {
  /**
   * Changes the password, ends all sessions and approver keys of the user, and starts a new session for the caller.
   * Throws `validation` for a wrong current password, `rate_limited` after too many wrong passwords, and `conflict`
   * when the password was changed concurrently.
   */
  change(
    by: UserPrincipal,
    given: {
      readonly current: string
      readonly next: string
      readonly isPage: boolean
    },
  ): Promise<StartedSession>
}

export type PasswordChangeDeps = { readonly db: Db; readonly orgId: string; readonly passwords: Passwords }

export function createPasswordChange(deps: PasswordChangeDeps): PasswordChange {
  const { db, orgId, passwords } = deps
  return {
    async change(by, { current, next, isPage }) {
      const known = await withPassword(db, by)
      await countPasswordCheck(db, known.id)
      const turn = `user ${known.id}`
      if (!(await passwords.verify(current, known.passwordHash, turn))) {
        const details = { email: known.email }
        await recordEvent(db, { orgId, actor: actorOf(by), type: 'user.login_failed', details })
        throw validationError(['current_password: does not match your password'])
      }
      if (next === current) throw validationError(['new_password: must differ from your current password'])
      const passwordHash = await passwords.hash(next, turn)
      return db.tx(async (q) => {
        const user = await lockUser(q, known.id)
        // The user may have been suspended, or have changed the password elsewhere, while the password was verified.
        if (user?.status !== 'active' || user.passwordHash !== known.passwordHash) throw tooLate()
        await setPasswordHash(q, user.id, passwordHash)
        await endSessionsOf(q, user.id)
        const ended = { orgId, actor: actorOf(by), userId: user.id, email: user.email }
        await endApproverKeys(q, { ...ended, why: 'password_changed' })
        const session = await startSession(q, user, isPage)
        await deletePasswordChecks(q, user.id)
        const details = { email: user.email }
        await recordEvent(q, { orgId, actor: actorOf(by), type: 'user.password_changed', details })
        return session
      })
    },
  }
}

async function withPassword(db: Db, by: UserPrincipal): Promise<UserRow> {
  const user = by.via === 'session' ? await getUser(db, by.userId) : undefined
  if (user !== undefined) return user
  throw new ChaperoneError('forbidden', {
    detail: 'The admin token has no password. Sign in as the user whose password is to be changed.',
  })
}

function tooLate(): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: 'The password was changed a moment ago. Sign in with the new password.',
  })
}
