import { ChaperoneError } from '../../../core/errors.ts'
import { covers, hasRole, RIGHTS, type Right, type Role, reachOf } from '../../../core/wire/access/rights.ts'
import type { UserPrincipal } from '../../http/auth/authenticate.ts'
import type { UserRow } from './rows.ts'

/** A role, and the namespaces for which a user has the role; null means every namespace. */
export type GivenRole = { readonly role: Role; readonly namespaces: readonly string[] | null }

/** Returns all roles of a user, the highest role first. */
export function rolesOf({ role, namespaces, lowerRoles }: UserRow): readonly GivenRole[] {
  return [{ role, namespaces }, ...lowerRoles]
}

/**
 * Throws `forbidden` when a user of the Kubernetes cluster assigns a role but lacks a right of this role in a namespace
 * of the assignment. Throws `not_ready` when the API server does not answer. Does nothing for a caller with a role in
 * Chaperone, because other functions check such callers.
 */
export async function refuseMoreThanOwn(by: UserPrincipal, given: readonly GivenRole[]): Promise<void> {
  for (const { role, namespaces } of given) {
    const rights = rightsOfRole(role).filter(
      (right) => namespaces === null || reachOf(right) === 'namespaces',
    )
    const missing = await missingRights(by, rights, namespaces)
    if (missing.length === 0) continue
    const where = namespaces === null ? 'all namespaces' : namespaces.join(', ')
    throw forbidden(
      `You may give the role ${role} only if you have all of its rights in ${where}; you lack ${missing.join(', ')} (docs/rights.md).`,
    )
  }
}

/**
 * Throws `forbidden` when a caller from the Kubernetes cluster adds `user` to an approver group, but lacks the right to
 * answer approvals in a namespace in which `user` may answer them.
 */
export async function refuseGroupsBeyondOwn(by: UserPrincipal, user: UserRow): Promise<void> {
  const answering = rolesOf(user).filter(({ role }) => hasRole(role, RIGHTS['approvals/answer'].role))
  const places = answering.length === 0 ? [null] : answering.map(({ namespaces }) => namespaces)
  for (const namespaces of places)
    if ((await missingRights(by, ['approvals/answer'], namespaces)).length > 0)
      throw forbidden(
        `You may add ${user.email} to approver groups only if you have the right approvals/answer in every namespace in which this user has it (docs/rights.md).`,
      )
}

/**
 * Returns the rights that a caller from the Kubernetes cluster lacks. Returns none for a caller with a role in
 * Chaperone.
 */
async function missingRights(
  { clusterRights }: UserPrincipal,
  rights: readonly Right[],
  namespaces: readonly string[] | null,
): Promise<readonly Right[]> {
  if (clusterRights === undefined) return []
  const reach = namespaces === null ? 'cluster' : 'namespaces'
  const held = await Promise.all(rights.map((right) => clusterRights(right, reach)))
  return rights.filter((_, at) => {
    const where = held[at] ?? new Set<string>()
    return namespaces === null ? where !== 'all' : !namespaces.every((name) => covers(where, name))
  })
}

/**
 * Returns the rights of a role, except the rights on approver keys. An approver key belongs to an account, and users of
 * the Kubernetes cluster have no account.
 */
function rightsOfRole(role: Role): readonly Right[] {
  const all = Object.keys(RIGHTS) as readonly Right[]
  return all.filter((right) => hasRole(role, RIGHTS[right].role) && !right.startsWith('approverkeys/'))
}

function forbidden(detail: string): ChaperoneError {
  return new ChaperoneError('forbidden', { detail })
}
