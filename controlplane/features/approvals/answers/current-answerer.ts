import { hasRole, type Namespaces, RIGHTS, type Role } from '../../../../core/wire/access/rights.ts'
import type { Query } from '../../../db/query.ts'
import { identityState } from '../../oidc/rows.ts'
import { shareUser, type UserRow } from '../../users/rows.ts'
import type { Answerer } from './service.ts'

/**
 * Returns the approver with the current rights of the account, because a role or group may have been removed after the
 * request was authenticated. Locks the account until the transaction ends. `namespace`: namespace of the agent; null
 * for an agent without a namespace.
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
  // For an account with a role in all namespaces, the namespaces of the authenticated request apply.
  return { ...by, role, groups, namespaces: held.namespaces === 'all' ? by.namespaces : held.namespaces }
}

/**
 * Returns the role with which the account may answer for agents of the namespace. A role in all namespaces takes
 * precedence.
 */
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
