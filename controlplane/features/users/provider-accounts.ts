import { newId } from '../../crypto/ids.ts'
import type { Query } from '../../db/query.ts'
import { type Actor, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { endSessionsOf } from '../sessions/service.ts'
import { endApproverKeys } from './approver-keys/service.ts'
import type { UserRow } from './rows.ts'
import { insertUser, setPasswordHash, type UserInput, updateUser } from './store.ts'

/*
 * The functions of this file change accounts of users of the identity provider. They run in the transaction of a
 * sign-in, or of a later check whether the provider still confirms the user. Each function records its audit event.
 */

const PROVIDER: Actor = systemActor('identity-provider')

/**
 * Identity of a user at the identity provider. `issuer`: URL of the provider. `subject`: id of the user at the
 * provider.
 */
export type AccountIdentity = { readonly issuer: string; readonly subject: string }

/** Creates the account of a user. Returns undefined when an account with the e-mail address exists. */
export async function registerProviderUser(
  q: Query,
  account: Omit<UserInput, 'id'>,
  { issuer, subject }: AccountIdentity,
): Promise<UserRow | undefined> {
  const { orgId, email, role } = account
  const user = await insertUser(q, { ...account, id: newId('user') })
  if (user === undefined) return undefined
  await recordEvent(q, {
    orgId,
    type: 'user.registered',
    details: { email, via: 'identity_provider', issuer, subject, role },
    actor: { kind: 'user', userId: user.id, label: email },
  })
  return user
}

/**
 * Binds an existing account to an identity at the provider. Replaces the password, and ends all sessions and approver
 * keys of the user, because the holder of the old password may have created them.
 */
export async function linkProviderUser(
  q: Query,
  { id: userId, orgId, email }: UserRow,
  { issuer, subject, passwordHash }: AccountIdentity & { readonly passwordHash: string },
): Promise<void> {
  await setPasswordHash(q, userId, passwordHash)
  await endSessionsOf(q, userId)
  await endApproverKeys(q, { orgId, actor: PROVIDER, userId, email, why: 'password_changed' })
  const details = { email, user_id: userId, issuer, subject, change: 'linked' }
  await recordEvent(q, { orgId, actor: PROVIDER, type: 'user.role_changed', details })
}

export type ProviderAccess = Pick<UserRow, 'role' | 'groups' | 'namespaces' | 'lowerRoles'>

/** Changes the roles, namespaces and groups of a user. A change of the highest role also revokes the approver keys. */
export async function changeProviderAccess(q: Query, user: UserRow, to: ProviderAccess): Promise<UserRow> {
  const { id: userId, orgId, email, role, groups, namespaces, lowerRoles } = user
  const changed = await updateUser(q, userId, to)
  if (to.role !== role)
    await endApproverKeys(q, { orgId, actor: PROVIDER, userId, email, why: 'role_changed' })
  const from = { role, groups, namespaces, lowerRoles }
  const details = { user_id: userId, email, from, to, change: 'identity_provider' }
  await recordEvent(q, { orgId, actor: PROVIDER, type: 'user.role_changed', details })
  return changed
}

/**
 * Ends the sessions of a user whom the identity provider no longer confirms, for example after it deleted the account.
 */
export async function endProviderAccess(
  q: Query,
  { orgId, userId, reason }: { readonly orgId: string; readonly userId: string; readonly reason: string },
): Promise<void> {
  await endSessionsOf(q, userId)
  const details = { user_id: userId, reason }
  await recordEvent(q, { orgId, actor: PROVIDER, type: 'user.access_ended', details })
}
