import { ChaperoneError } from '../../../../core/errors.ts'
import { sha256 } from '../../../../runtime/sha256.ts'
import { newId } from '../../../crypto/ids.ts'
import { issueUserKey } from '../../../crypto/tokens.ts'
import type { Db, Query } from '../../../db/query.ts'
import type { UserPrincipal } from '../../../http/auth/authenticate.ts'
import { type Actor, actorOf } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { usersOfSessions } from '../../sessions/service.ts'
import { lockUser } from '../rows.ts'
import {
  deleteExpiredUserKeys,
  deleteUserKey,
  deleteUserKeysOf,
  insertUserKey,
  listUserKeys,
  type UserKeyRow,
} from './store.ts'

/** Maximum number of approver keys per user. */
const MAX_KEYS = 20

export type NewApproverKey = { readonly name: string | null; readonly days: number }
export type IssuedApproverKey = { readonly id: string; readonly key: string; readonly expiresAt: Date }

/** A signed-in user, with the session that authenticated the request. */
export type KeyOwner = { readonly user: UserPrincipal; readonly sessionId: string | undefined }

/**
 * Manages the approver keys of the signed-in user. Every method throws `forbidden` for the admin token, because the
 * admin token belongs to no user.
 */
export type ApproverKeys = {
  list(owner: KeyOwner): Promise<readonly UserKeyRow[]>
  /**
   * Creates a key and returns its secret, which is shown only once. Throws `conflict` beyond 20 keys, and
   * `unauthorized` when the session ended after the request was authenticated.
   */
  create(owner: KeyOwner, wanted: NewApproverKey): Promise<IssuedApproverKey>
  /** Revokes a key. Throws `not_found` for a key of another user. */
  revoke(owner: KeyOwner, id: string): Promise<void>
}

type ApproverKeysDeps = { readonly db: Db; readonly orgId: string }

export function createApproverKeys(deps: ApproverKeysDeps): ApproverKeys {
  return {
    list: ({ user }) => listUserKeys(deps.db, accountOf(user).userId),
    create: (owner, wanted) => create(deps, owner, wanted),
    async revoke({ user }, id) {
      const { userId, email } = accountOf(user)
      await deps.db.tx(async (q) => {
        const row = await deleteUserKey(q, { id, userId })
        if (row === undefined) {
          throw new ChaperoneError('not_found', {
            detail: `You have no approver key ${id}. GET /api/auth/keys lists your keys.`,
          })
        }
        await noteRevoked(q, { ...deps, actor: actorOf(user), email, why: 'revoked' }, row)
      })
    },
  }
}

type End = {
  readonly orgId: string
  readonly actor: Actor
  readonly email: string
  readonly why: 'revoked' | 'password_changed' | 'password_reset' | 'role_changed' | 'suspended'
}

/** Revokes all approver keys of a user, in the transaction of the change that invalidates them. */
export async function endApproverKeys(q: Query, end: End & { readonly userId: string }): Promise<void> {
  for (const row of await deleteUserKeysOf(q, end.userId)) await noteRevoked(q, end, row)
}

async function create(
  { db, orgId }: ApproverKeysDeps,
  { user, sessionId }: KeyOwner,
  { name, days }: NewApproverKey,
): Promise<IssuedApproverKey> {
  const { userId, email } = accountOf(user)
  const { key, prefix, sha256: hash } = issueUserKey()
  return db.tx(async (q) => {
    await lockUser(q, userId)
    await refuseEndedSession(q, userId, sessionId)
    await deleteExpiredUserKeys(q, userId)
    const { length } = await listUserKeys(q, userId)
    if (length >= MAX_KEYS) {
      throw new ChaperoneError('conflict', {
        detail: `You have ${length} approver keys, which is the limit. Revoke one first.`,
      })
    }
    const row = await insertUserKey(q, { id: newId('key'), userId, name, prefix, sha256: hash, days })
    const details = { email, key_id: row.id, prefix, name, expires_at: row.expiresAt.toISOString() }
    await recordEvent(q, { orgId, actor: actorOf(user), type: 'user.key_created', details })
    return { id: row.id, key, expiresAt: row.expiresAt }
  })
}

/**
 * Throws when a change of password or role ended the session after the request was authenticated. The caller must hold
 * the lock of user changes (`lockUserChanges`).
 */
async function refuseEndedSession(q: Query, userId: string, sessionId: string | undefined): Promise<void> {
  const [found] = sessionId === undefined ? [] : await usersOfSessions(q, [sha256(sessionId)])
  if (found?.id === userId && found.role !== 'viewer') return
  throw new ChaperoneError('unauthorized', { detail: 'The session has ended. Sign in again.' })
}

function accountOf(user: UserPrincipal): UserPrincipal {
  if (user.via === 'session') return user
  throw new ChaperoneError('forbidden', {
    detail:
      'The admin token belongs to no user, so it has no approver keys. Sign in as the user who answers.',
  })
}

async function noteRevoked(q: Query, { orgId, actor, email, why }: End, row: UserKeyRow): Promise<void> {
  const details = { email, key_id: row.id, prefix: row.prefix, name: row.name, why }
  await recordEvent(q, { orgId, actor, type: 'user.key_revoked', details })
}
