import { hasRole, type Namespaces, RIGHTS, type Role } from '../../../../core/wire/access/rights.ts'
import type { Query } from '../../../db/query.ts'
import { identityState } from '../../oidc/identity-store.ts'
import { shareUser, type UserRow } from '../../users/store.ts'
import type { Answerer } from './service.ts'

/**
 * The approver with no more than their account has now: a role or a group may have been taken away since the request was
 * authenticated. Changes of the account wait for the end of the transaction. `namespace`: of the agent; null = none.
 */
export async function currentAnswerer(q: Query, by: Answerer, namespace: string | null): Promise<Answerer> {
  if (by.kind === 'operator' || by.userId === null || by.clusterCredential !== undefined) return by
  const user = await shareUser(q, by.userId)
  if (user === undefined) return by
  const isActive = user.status === 'active' && (await identityState(q, user.id)) !== 'ended'
  const held = isActive ? heldIn(user, namespace) : null
  if (held === null) return { ...by, role: 'viewer', groups: [], namespaces: new Set() }
  const groups = by.groups.filter((group) => user.groups.includes(group))
  const role = hasRole(by.role, held.role) ? held.role : by.role
  // A role everywhere leaves what the request had.
  return { ...by, role, groups, namespaces: held.namespaces === 'all' ? by.namespaces : held.namespaces }
}

/** The role that answers for the agents of the namespace: that in all namespaces where there is one. */
function heldIn(
  { role, namespaces, lowerRoles }: UserRow,
  namespace: string | null,
): { readonly role: Role; readonly namespaces: Namespaces } | null {
  const roles = [{ role, namespaces }, ...lowerRoles].filter((held) =>
    hasRole(held.role, RIGHTS['approvals/answer'].role),
  )
  const everywhere = roles.find((held) => held.namespaces === null)
  if (everywhere !== undefined) return { role: everywhere.role, namespaces: 'all' }
  if (namespace === null) return null
  const here = roles.find((held) => held.namespaces?.includes(namespace))
  return here === undefined ? null : { role: here.role, namespaces: new Set([namespace]) }
}
