import { ChaperoneError } from '../../../core/errors.ts'
import {
  hasRole,
  type Namespaces,
  partsOfRight,
  type Reach,
  RIGHTS,
  type Right,
  type Role,
  reachOf,
} from '../../../core/wire/access/rights.ts'
import type { Principal } from '../route.ts'

type User = Extract<Principal, { kind: 'user' }>

const NOWHERE: Namespaces = new Set()

/**
 * Returns true for a right that a user has in all namespaces although the role counts in some namespaces only. These
 * are the rights on approver keys, because a key answers approvals only in the namespaces of its user.
 */
function isUnlimited(right: Right): boolean {
  return partsOfRight(right).resource === 'approverkeys'
}

/**
 * Returns the namespaces in which the user has the right. `reach`: `cluster` when the right is required in
 * all namespaces; a user of a cluster then has the right in all namespaces or in none. Rejects with
 * `not_ready` when the API server does not answer a SubjectAccessReview.
 */
export async function namespacesOf(user: User, right: Right, reach: Reach): Promise<Namespaces> {
  if (user.clusterRights !== undefined) return user.clusterRights(right, reach)
  const given = rolesOf(user).filter(({ role }) => hasRole(role, RIGHTS[right].role))
  if (given.length === 0) return NOWHERE
  return isUnlimited(right)
    ? 'all'
    : given.map(({ namespaces }) => namespaces).reduce<Namespaces>(union, NOWHERE)
}

export type RightIn = { readonly right: Right; readonly namespaces: Namespaces }

/** Returns the rights of a user with a role in Chaperone, each with its namespaces. */
export async function rightsOf(user: User): Promise<readonly RightIn[]> {
  const all = Object.keys(RIGHTS) as readonly Right[]
  const held = await Promise.all(
    all.map(async (right) => ({ right, namespaces: await namespacesOf(user, right, reachOf(right)) })),
  )
  return held.filter(({ right, namespaces }) => isEnough(namespaces, reachOf(right)))
}

function isEnough(namespaces: Namespaces, reach: Reach): boolean {
  return namespaces === 'all' || (reach === 'namespaces' && namespaces.size > 0)
}

type RoleIn = { readonly role: Role; readonly namespaces: Namespaces }

function rolesOf({ role, roleNamespaces, lowerRoles = [] }: User): readonly RoleIn[] {
  return [{ role, namespaces: roleNamespaces ?? 'all' }, ...lowerRoles]
}

function union(a: Namespaces, b: Namespaces): Namespaces {
  if (a === 'all' || b === 'all') return 'all'
  return new Set([...a, ...b])
}

/** Returns the highest role that the user has in all of these namespaces; `viewer` when the user has no such role. */
export function roleWithin(user: User, wanted: Namespaces): Role {
  const isWithin = ({ namespaces }: RoleIn) =>
    namespaces === 'all' || (wanted !== 'all' && [...wanted].every((name) => namespaces.has(name)))
  return rolesOf(user).find(isWithin)?.role ?? 'viewer'
}

/**
 * Returns the user with `namespaces` set to the namespaces in which the user has the right. Rejects with `forbidden`
 * for a user without the right.
 *
 * @param isNamespaced Whether the right in some namespaces is sufficient.
 */
export async function requireRight(user: User, right: Right, isNamespaced: boolean): Promise<User> {
  const namespaces = await namespacesOf(user, right, isNamespaced ? 'namespaces' : 'cluster')
  if (namespaces === 'all' || (isNamespaced && namespaces.size > 0)) return { ...user, namespaces }
  throw new ChaperoneError('forbidden', { ...refusal(user, right, { namespaces, isNamespaced }) })
}

/**
 * Requires a right in addition to the right of the route. Returns the namespaces in which the caller has both rights.
 * Rejects with `forbidden` for a caller without the additional right.
 *
 * @param given Namespaces in which the caller has the right of the route.
 */
export async function requireAdditionalRight(
  principal: Principal,
  right: Right,
  { given, isNamespaced }: { readonly given: Namespaces; readonly isNamespaced: boolean },
): Promise<Namespaces> {
  if (principal.kind !== 'user')
    throw new ChaperoneError('forbidden', { detail: 'This request requires a user.' })
  const { namespaces } = await requireRight(principal, right, isNamespaced)
  if (given === 'all' || namespaces === 'all') return given === 'all' ? namespaces : given
  return new Set([...given].filter((name) => namespaces.has(name)))
}

/**
 * Returns a function that resolves to the namespaces in which the caller has the right of the route and may
 * read traffic records.
 */
export function visibleRecords({
  principal,
  namespaces: given,
}: {
  readonly principal: Principal
  readonly namespaces: Namespaces
}): () => Promise<Namespaces> {
  return () => requireAdditionalRight(principal, 'records/get', { given, isNamespaced: true })
}

type Found = { readonly namespaces: Exclude<Namespaces, 'all'>; readonly isNamespaced: boolean }

function refusal(user: User, right: Right, { namespaces, isNamespaced }: Found) {
  const { resource, verb } = partsOfRight(right)
  if (user.clusterRights !== undefined) {
    const where = isNamespaced ? '' : ' in all namespaces'
    return {
      detail: `This request requires the right to ${verb} ${resource}.chaperone.dev${where}. Bind a role of the cluster to ${user.email} (docs/rights.md).`,
      extra: { required_right: right },
    }
  }
  const where = ` in all namespaces; you have it in ${[...namespaces].join(', ')}.`
  const required = RIGHTS[right].role
  const extra = { required_role: required, your_role: user.role }
  if (namespaces.size > 0) return { detail: `This request requires the role ${required}${where}`, extra }
  return {
    detail: `This request requires the role ${required}; your role is ${user.role}. Ask an owner or admin to change it.`,
    extra,
  }
}
