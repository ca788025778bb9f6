import { isDeepStrictEqual } from 'node:util'
import type { Keyring } from '../../crypto/keyring.ts'
import { sealedPlace } from '../../crypto/sealed-places.ts'
import type { Query } from '../../db/query.ts'
import {
  changeProviderAccess,
  endProviderAccess,
  linkProviderUser,
  type ProviderAccess,
  registerProviderUser,
} from '../users/provider-accounts.ts'
import { findUserByEmail, hasOtherOwner, lockUser, lockUserChanges, type UserRow } from '../users/rows.ts'
import { type Access, accessOf } from './access.ts'
import { deleteIdentity, findIdentity, saveIdentity, type UserIdentity } from './identity-store.ts'
import type { Confirmed, ProviderTokens } from './provider.ts'
import { findIdentityOf } from './rows.ts'
import type { OidcSettings } from './settings.ts'
import type { ProviderUser } from './sign-in/claims.ts'
import { SignInError } from './sign-in/sign-in-error.ts'

export type ProviderUsersDeps = {
  readonly orgId: string
  readonly keyring: Keyring
  readonly settings: Pick<OidcSettings, 'issuer' | 'groups'>
  /** Whether users may sign in with a password. */
  readonly isPasswordOn: boolean
}

/**
 * Manages the accounts of users who sign in through the identity provider. An account is created at the first sign-in
 * and updated when the user's groups change. Every method runs in the caller's transaction.
 */
export type ProviderUsers = {
  /**
   * Creates or updates the account of the user who signs in, and returns the account. `passwordHash` is stored for a
   * new account only. Throws a SignInError.
   */
  signIn(q: Query, confirmed: Confirmed, passwordHash: string): Promise<UserRow>
  /** Updates an existing account after the provider confirmed the user. Throws a SignInError. */
  confirm(q: Query, userId: string, confirmed: Confirmed): Promise<UserRow>
  /**
   * Ends the sessions of a user whom the provider no longer confirms. The user's approver keys are invalid until the
   * next sign-in.
   */
  end(q: Query, identity: UserIdentity, reason: string): Promise<void>
  /**
   * Decrypts the stored tokens of the provider. Throws a SignInError when no tokens are stored. Also throws for tokens
   * of an earlier provider, because the configured provider must not receive them.
   */
  openTokens(identity: UserIdentity): ProviderTokens
}

export function createProviderUsers(deps: ProviderUsersDeps): ProviderUsers {
  const { settings, keyring } = deps
  const { issuer } = settings

  async function confirm(q: Query, userId: string, { user: claims, tokens }: Confirmed): Promise<UserRow> {
    const user = await lockUser(q, userId)
    if (user === undefined || user.status !== 'active') throw new SignInError('suspended')
    const access = accessOf(claims.groups, settings.groups)
    const changed = await applyAccess(q, deps, user, access)
    const sealed =
      tokens === null ? null : keyring.seal(JSON.stringify(tokens), sealedPlace.identityTokens(userId))
    const isEmailVerified = claims.isEmailVerified && isSameAddress(claims.email, user.email)
    await saveIdentity(q, { userId, issuer, subject: claims.subject, tokens: sealed, isEmailVerified })
    return changed
  }

  return {
    confirm: async (q, userId, confirmed) => {
      await lockUserChanges(q)
      return confirm(q, userId, confirmed)
    },
    async signIn(q, confirmed, passwordHash) {
      await lockUserChanges(q)
      const { user: claims } = confirmed
      const known = await findIdentity(q, { issuer, subject: claims.subject })
      if (known !== undefined) return confirm(q, known.userId, confirmed)
      const access = accessOf(claims.groups, settings.groups)
      if (access === null) throw new SignInError('no_access')
      const { id } = await newUser(q, deps, { claims, access, passwordHash })
      return confirm(q, id, confirmed)
    },
    async end(q, identity, reason) {
      const { userId } = identity
      await saveIdentity(q, { ...identity, tokens: null })
      await endProviderAccess(q, { orgId: deps.orgId, userId, reason })
    },
    openTokens({ userId, tokens, issuer: from }) {
      if (tokens === null || from !== issuer) throw new SignInError('refused')
      return JSON.parse(keyring.open(tokens, sealedPlace.identityTokens(userId))) as ProviderTokens
    },
  }
}

type NewUser = { readonly claims: ProviderUser; readonly access: Access; readonly passwordHash: string }

/** Inserts the account, or links the existing account with the verified e-mail address. */
async function newUser(q: Query, deps: ProviderUsersDeps, given: NewUser): Promise<UserRow> {
  const { claims, access, passwordHash } = given
  const { orgId, settings } = deps
  const { email, name, subject } = claims
  const existing = await findUserByEmail(q, email)
  if (existing !== undefined) return takeOver(q, deps, { existing, claims, passwordHash })
  const account = { orgId, email, name, passwordHash, role: access.role, groups: access.approverGroups }
  const user = await registerProviderUser(q, account, { issuer: settings.issuer, subject })
  if (user === undefined) throw new SignInError('account_exists')
  return user
}

/**
 * Links an existing account to the provider's identity. Refuses accounts with the role owner, because the provider
 * could then control an owner. If the account already has an identity, replaces only an identity of an earlier
 * provider.
 */
async function takeOver(
  q: Query,
  { settings }: Pick<ProviderUsersDeps, 'settings'>,
  given: { readonly existing: UserRow; readonly claims: ProviderUser; readonly passwordHash: string },
): Promise<UserRow> {
  const { existing: user, claims, passwordHash } = given
  const { id: userId } = user
  const identity = await findIdentityOf(q, userId)
  const isFree = identity === undefined || identity.issuer !== settings.issuer
  if (!claims.isEmailVerified || user.role === 'owner' || !isFree) throw new SignInError('account_exists')
  if (user.status !== 'active') throw new SignInError('suspended')
  await deleteIdentity(q, userId)
  await linkProviderUser(q, user, { issuer: settings.issuer, subject: claims.subject, passwordHash })
  return user
}

/**
 * Applies the configured mapping of groups to roles. The mapping neither gives nor removes the role owner. The last
 * owner who can sign in keeps access without a mapped group.
 */
async function applyAccess(
  q: Query,
  { isPasswordOn }: Pick<ProviderUsersDeps, 'isPasswordOn'>,
  user: UserRow,
  access: Access | null,
): Promise<UserRow> {
  const isOwner = user.role === 'owner'
  if (access === null) {
    if (isOwner && !(await hasOtherOwner(q, { userId: user.id, isPasswordOn }))) return user
    throw new SignInError('no_access')
  }
  const next: ProviderAccess = {
    role: isOwner ? user.role : access.role,
    groups: access.approverGroups,
    namespaces: isOwner ? null : access.namespaces,
    lowerRoles: isOwner ? [] : access.lowerRoles,
  }
  const { role, groups, namespaces, lowerRoles } = user
  if (isDeepStrictEqual({ role, groups, namespaces, lowerRoles }, next)) return user
  return changeProviderAccess(q, user, next)
}

/** Compares e-mail addresses without case, like the unique index of the database. */
function isSameAddress(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}
