import type { ApproverIdentity } from '../../../../core/state/approver-identity.ts'
import type { Query } from '../../../db/query.ts'
import { findIdentityOf } from '../../oidc/rows.ts'
import type { StoredAnswer } from '../rows.ts'
import type { Answerer } from './service.ts'

/** Resolves the identity of the approver; null for a token that identifies no user. */
export async function approverIdentity(q: Query, by: Answerer): Promise<ApproverIdentity | null> {
  if (by.kind === 'operator' || by.userId === null) return null
  const { userId: id, email, clusterCredential } = by
  if (clusterCredential !== undefined) {
    const address = addressOf(email)
    return { id, way: clusterCredential, email: address, isEmailVerified: address !== null }
  }
  const identity = await findIdentityOf(q, id)
  const isEmailVerified = identity?.tokens != null && identity.isEmailVerified
  return { id, way: 'account', email: email.toLowerCase(), isEmailVerified }
}

/**
 * Returns the identity of the user who gave a stored answer. An answer of an older version contains only the user id.
 */
export function identityOf({ person, user_id: id, by }: StoredAnswer): ApproverIdentity {
  if (person !== undefined && person !== null) return person
  const way = id?.startsWith('cluster:') ? 'token' : 'account'
  return { id: id ?? `name:${by}`, way, email: null, isEmailVerified: false }
}

/**
 * Reports whether the approver is a machine identity of the cluster, such as a ServiceAccount. Machine identities do
 * not count where different users are required.
 */
export function isMachine(by: Answerer): boolean {
  return by.kind === 'user' && by.clusterCredential !== undefined && /^system:(?!admin$)/.test(by.email)
}

/**
 * Returns the e-mail address in a user name of the cluster, without the prefix of the authenticator. For
 * `oidc:ann@example.com` this is `ann@example.com`. Returns null when the user name contains no address.
 */
function addressOf(username: string): string | null {
  const [address] = /[^\s:/#|]+@[^\s@:/#|]+\.[^\s@:/#|]+$/.exec(username) ?? []
  return address?.toLowerCase() ?? null
}
