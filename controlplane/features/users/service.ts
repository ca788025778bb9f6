import { isDeepStrictEqual } from 'node:util'
import { ChaperoneError } from '../../../core/errors.ts'
import { hasRole, RIGHTS, type Role } from '../../../core/wire/access/rights.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { newId } from '../../crypto/ids.ts'
import { randomToken } from '../../crypto/tokens.ts'
import type { Db, Query } from '../../db/query.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import { actorOf } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { findIdentityOf, identityState } from '../oidc/rows.ts'
import { endSessionsOf } from '../sessions/service.ts'
import { endApproverKeys } from './approver-keys/service.ts'
import { refuseGroupsBeyondOwn, refuseMoreThanOwn, rolesOf } from './assigned-roles.ts'
import {
  deleteInvitation,
  insertInvitation,
  listInvitations,
  type PendingInvitation,
} from './invitation-store.ts'
import { getUser, listUsers, lockUser, lockUserChanges, type UserRow } from './rows.ts'
import { updateUser } from './store.ts'

export type UsersDeps = { readonly db: Db; readonly orgId: string }

export type Users = {
  list(): Promise<readonly UserRow[]>
  changeRole(by: UserPrincipal, userId: string, role: Role): Promise<UserRow>
  suspend(by: UserPrincipal, userId: string): Promise<UserRow>
  activate(by: UserPrincipal, userId: string): Promise<UserRow>
  setGroups(by: UserPrincipal, userId: string, groups: readonly string[]): Promise<UserRow>
  /** Invites a user. Returns the token of the registration link. */
  invite(by: UserPrincipal, email: string, role: Role): Promise<string>
  /** Lists the unused invitations. */
  invitations(): Promise<readonly PendingInvitation[]>
  /** Revokes an unused invitation. Returns its role. */
  revokeInvitation(by: UserPrincipal, id: string): Promise<Role>
}

export function createUsers(deps: UsersDeps): Users {
  const change = <T>(
    given: UserPrincipal,
    userId: string,
    work: (q: Query, user: UserRow, by: UserPrincipal) => Promise<T>,
  ) =>
    deps.db.tx(async (q) => {
      const by = await stillAllowed(q, given)
      return work(q, await existing(q, userId), by)
    })
  return {
    list: () => listUsers(deps.db),
    changeRole: async (given, userId, role) => {
      await refuseMoreThanOwn(given, [{ role, namespaces: null }])
      return change(given, userId, async (q, user, by) => {
        refuseRoleChange(by, user, role)
        if (user.role === role) return user
        if (user.role !== 'owner' && role !== 'owner') await refuseProviderUser(q, user)
        const changed = await updateUser(q, userId, { role })
        await endSessionsOf(q, userId)
        await endKeys(q, deps, { by, user, why: 'role_changed' })
        await note(q, deps, by, 'user.role_changed', {
          user_id: userId,
          email: user.email,
          from: user.role,
          to: role,
        })
        return changed
      })
    },
    suspend: (given, userId) =>
      change(given, userId, async (q, user, by) => {
        if (user.role === 'owner')
          throw ownerGuard(by, 'An owner cannot be suspended. Change the role first.')
        return setStatus(q, deps, { by, user, status: 'suspended' })
      }),
    activate: async (given, userId) => {
      const seen = await getUser(deps.db, userId)
      if (seen !== undefined) await refuseMoreThanOwn(given, rolesOf(seen))
      return change(given, userId, async (q, user, by) => {
        refuseChanged(by, { seen, now: user })
        return setStatus(q, deps, { by, user, status: 'active' })
      })
    },
    setGroups: async (given, userId, groups) => {
      const seen = await getUser(deps.db, userId)
      const isMore = groups.some((group) => seen?.groups.includes(group) === false)
      if (seen !== undefined && isMore) await refuseGroupsBeyondOwn(given, seen)
      return change(given, userId, async (q, user, by) => {
        await refuseProviderUser(q, user)
        refuseChanged(by, { seen, now: user })
        const changed = await updateUser(q, userId, { groups: [...new Set(groups)] })
        await note(q, deps, by, 'user.role_changed', {
          user_id: userId,
          email: user.email,
          change: 'groups',
          from: user.groups,
          to: changed.groups,
        })
        return changed
      })
    },
    invite: (by, email, role) => invite(deps, { by, email, role }),
    invitations: () => listInvitations(deps.db),
    revokeInvitation: (by, id) => revokeInvitation(deps, by, id),
  }
}

async function invite(
  { db, orgId }: UsersDeps,
  { by, email, role }: { by: UserPrincipal; email: string; role: Role },
): Promise<string> {
  const token = randomToken()
  await refuseMoreThanOwn(by, [{ role, namespaces: null }])
  await db.tx(async (q) => {
    const { role: own } = await stillAllowed(q, by)
    if (role === 'owner' && own !== 'owner')
      throw ownerGuard({ role: own }, 'Only an owner may invite an owner.')
    await insertInvitation(q, {
      id: newId('invitation'),
      orgId,
      email,
      role,
      tokenSha256: sha256(token),
      invitedBy: by.email,
    })
    await note(q, { db, orgId }, by, 'user.role_changed', { email, change: 'invited', to: role })
  })
  return token
}

async function revokeInvitation(deps: UsersDeps, given: UserPrincipal, id: string): Promise<Role> {
  return deps.db.tx(async (q) => {
    const by = await stillAllowed(q, given)
    const invitation = await deleteInvitation(q, id)
    if (invitation === undefined) {
      throw new ChaperoneError('not_found', {
        detail: `There is no unused invitation ${id}. It may have been used or revoked. Reload the list of users.`,
      })
    }
    const { email, role } = invitation
    if (role === 'owner' && by.role !== 'owner')
      throw ownerGuard(by, 'Only an owner may revoke the invitation of an owner.')
    await note(q, deps, by, 'user.role_changed', { email, change: 'invitation_revoked', from: role })
    return role
  })
}

async function setStatus(
  q: Query,
  deps: UsersDeps,
  { by, user, status }: { by: UserPrincipal; user: UserRow; status: UserRow['status'] },
): Promise<UserRow> {
  if (user.status === status) return user
  const changed = await updateUser(q, user.id, { status })
  if (status === 'suspended') {
    await endSessionsOf(q, user.id)
    await endKeys(q, deps, { by, user, why: 'suspended' })
  }
  const type = status === 'active' ? 'user.activated' : 'user.suspended'
  await note(q, deps, by, type, { user_id: user.id, email: user.email })
  return changed
}

function endKeys(
  q: Query,
  { orgId }: UsersDeps,
  ended: { by: UserPrincipal; user: UserRow; why: 'role_changed' | 'suspended' },
): Promise<void> {
  const { by, user, why } = ended
  return endApproverKeys(q, { orgId, actor: actorOf(by), userId: user.id, email: user.email, why })
}

/**
 * Throws `conflict` for a user of the identity provider. The provider determines the role and the groups of such a
 * user, so the next check with the provider would revert the change.
 */
async function refuseProviderUser(q: Query, { id, email }: UserRow): Promise<void> {
  if ((await findIdentityOf(q, id)) === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `${email} signs in through the identity provider, so role and groups follow the groups of the provider (OIDC_GROUPS). Change the groups there.`,
  })
}

/**
 * Throws when a user without the role owner changes an owner, or an owner changes their own role. These checks ensure
 * that at least one owner always remains.
 */
function refuseRoleChange(by: UserPrincipal, user: UserRow, role: Role): void {
  if (user.role !== 'owner' && role !== 'owner') return
  if (by.role !== 'owner') throw ownerGuard(by, 'Only an owner may give or remove the role of an owner.')
  if (user.id === by.userId && role !== 'owner') {
    throw ownerGuard(by, 'Owners cannot remove their own role of owner. Ask another owner to do it.')
  }
  if (by.via === 'admin_token' && user.role === 'owner' && role !== 'owner') {
    throw ownerGuard(by, 'The admin token cannot remove the role of an owner. Sign in as an owner.')
  }
}

/**
 * Throws `conflict` for a caller from the Kubernetes cluster if the roles or groups of the changed user are no longer
 * those against which the rights of the caller were checked. `seen`: the changed user at the time of this check.
 */
function refuseChanged(
  { clusterRights }: UserPrincipal,
  { seen, now }: { readonly seen: UserRow | undefined; readonly now: UserRow },
): void {
  const held = (user: UserRow | undefined) => user && [rolesOf(user), user.groups]
  if (clusterRights === undefined || isDeepStrictEqual(held(seen), held(now))) return
  throw new ChaperoneError('conflict', { detail: `${now.email} was changed a moment ago. Try again.` })
}

/**
 * Serialises changes of users and checks the caller's role again. If two owners remove each other's role at the same
 * time, the second change is refused.
 */
async function stillAllowed(q: Query, by: UserPrincipal): Promise<UserPrincipal> {
  await lockUserChanges(q)
  // The route has already checked the right of a user of the Kubernetes cluster by a SubjectAccessReview.
  if (by.via === 'admin_token' || by.via === 'cluster') return by
  const user = await getUser(q, by.userId)
  const isActive = user?.status === 'active' && (await identityState(q, user.id)) !== 'ended'
  if (isActive && user.namespaces === null && hasRole(user.role, RIGHTS['users/update'].role))
    return { ...by, role: user.role }
  throw forbidden('Your role was changed a moment ago. Sign in again.')
}

async function existing(q: Query, userId: string): Promise<UserRow> {
  const user = await lockUser(q, userId)
  if (user !== undefined) return user
  throw new ChaperoneError('not_found', {
    detail: `There is no user ${userId}. GET /api/dashboard/users lists the users.`,
  })
}

async function note(
  q: Query,
  { orgId }: UsersDeps,
  by: UserPrincipal,
  type: 'user.role_changed' | 'user.suspended' | 'user.activated',
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordEvent(q, { orgId, actor: actorOf(by), type, details })
}

/**
 * Returns the error for a change that requires the role owner. An owner also receives this error for a change that no
 * owner may make, such as the suspension of an owner.
 */
function ownerGuard({ role }: Pick<UserPrincipal, 'role'>, detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail, extra: { required_role: 'owner', your_role: role } })
}

function forbidden(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail })
}
