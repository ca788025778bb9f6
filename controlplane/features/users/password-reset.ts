import { ChaperoneError } from '../../../core/errors.ts'
import type { Passwords } from '../../crypto/password.ts'
import type { Db } from '../../db/query.ts'
import { systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { findIdentityOf } from '../oidc/rows.ts'
import { deleteAccountAttempts } from '../sessions/attempts.ts'
import { endSessionsOf } from '../sessions/service.ts'
import { endApproverKeys } from './approver-keys/service.ts'
import { findUserByEmail, lockUser } from './rows.ts'
import { setPasswordHash } from './store.ts'

export type PasswordResetDeps = { readonly db: Db; readonly orgId: string; readonly passwords: Passwords }

/**
 * Sets a new password from a CLI command on the machine of the installation. Ends all sessions and approver keys of the
 * user, and deletes the counts of failed sign-ins, because these would delay the next sign-in. No API route calls the
 * function, because the holder of an API token could then take over an account. Throws `not_found` for an unknown
 * e-mail address.
 */
export async function resetPassword(
  { db, orgId, passwords }: PasswordResetDeps,
  given: { readonly email: string; readonly password: string },
): Promise<{ readonly email: string }> {
  const passwordHash = await passwords.hash(given.password, 'machine')
  return db.tx(async (q) => {
    const found = await findUserByEmail(q, given.email)
    const user = found && (await lockUser(q, found.id))
    if (user === undefined) {
      throw new ChaperoneError('not_found', {
        detail: `No user has the e-mail address ${given.email}. chaperone user list shows all users.`,
      })
    }
    if ((await findIdentityOf(q, user.id)) !== undefined) {
      throw new ChaperoneError('conflict', {
        detail: `${user.email} signs in through the identity provider and has no password here. Reset the password at the provider.`,
      })
    }
    const actor = systemActor('command-line')
    const { email } = user
    await setPasswordHash(q, user.id, passwordHash)
    await endSessionsOf(q, user.id)
    await deleteAccountAttempts(q, user)
    await endApproverKeys(q, { orgId, actor, userId: user.id, email, why: 'password_reset' })
    await recordEvent(q, { orgId, actor, type: 'user.password_reset', details: { email, user_id: user.id } })
    return { email }
  })
}
