import * as z from 'zod'
import { SignInError } from './sign-in-error.ts'

/** A user as the claims of the identity provider describe the user. */
export type ProviderUser = {
  readonly subject: string
  readonly email: string
  /** True when the provider states that the e-mail address is verified. False when the provider omits the claim. */
  readonly isEmailVerified: boolean
  readonly name: string
  readonly groups: readonly string[]
}

type Claims = Readonly<Record<string, unknown>>

const MAX_GROUPS = 1_000
const Email = z.email().max(320)
const GroupList = z.array(z.string().min(1).max(512)).max(MAX_GROUPS)

/** Reads the claims of an ID token or of the UserInfo endpoint. Throws a SignInError for a missing claim. */
export function readClaims(claims: Claims, groupsClaim: string): ProviderUser {
  const { sub, email, email_verified: verified, name } = claims
  if (typeof sub !== 'string' || sub === '' || sub.length > 255) throw new SignInError('invalid_answer')
  const address = Email.safeParse(email)
  // Some providers send `email_verified` as a string.
  if (!address.success || verified === false || verified === 'false') throw new SignInError('no_email')
  return {
    subject: sub,
    email: address.data,
    isEmailVerified: verified === true || verified === 'true',
    name: typeof name === 'string' && name.trim() !== '' ? name.slice(0, 200) : address.data,
    groups: groupsOf(claims, groupsClaim),
  }
}

/** Merges the claims of the ID token and of UserInfo. A claim of the ID token takes precedence. */
export function mergeClaims(idToken: Claims, userInfo: Claims): Claims {
  const merged = { ...userInfo, ...idToken }
  if (idToken['email'] === userInfo['email']) return merged
  // Takes address and `email_verified` from the same response, because the claim refers to the address in that response
  // (OpenID Connect Core 5.1).
  const withAddress = idToken['email'] === undefined ? userInfo : idToken
  return { ...merged, email_verified: withAddress['email_verified'] }
}

/**
 * Returns whether the claims contain groups. A provider may put groups into the ID token, into UserInfo or into both.
 */
export function namesGroups(claims: Claims, groupsClaim: string): boolean {
  return Object.hasOwn(claims, groupsClaim) || isOverage(claims, groupsClaim)
}

function groupsOf(claims: Claims, groupsClaim: string): readonly string[] {
  // A truncated list of groups could lack a group that gives a right, or a group that narrows a role. The sign-in
  // therefore fails.
  if (isOverage(claims, groupsClaim)) throw new SignInError('too_many_groups')
  const value = Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : []
  const list = GroupList.safeParse(typeof value === 'string' ? [value] : value)
  if (list.success) return list.data
  throw new SignInError(
    Array.isArray(value) && value.length > MAX_GROUPS ? 'too_many_groups' : 'invalid_answer',
  )
}

/**
 * Returns whether the provider omitted the groups because there are too many (OpenID Connect Core 5.6.2, and Entra ID's
 * `hasgroups`).
 */
function isOverage(claims: Claims, groupsClaim: string): boolean {
  const { _claim_names: distributed, hasgroups } = claims
  const isNamed = typeof distributed === 'object' && distributed !== null && groupsClaim in distributed
  return isNamed || hasgroups === true || hasgroups === 'true'
}
