import type { LowerRole } from '../users/rows.ts'
import type { GroupAccess } from './settings.ts'

/** The access that a user has because of the user's groups at the identity provider. */
export type Access = {
  readonly role: 'admin' | 'member' | 'viewer'
  readonly approverGroups: readonly string[]
  /** Namespaces in which the role counts; null means every namespace. */
  readonly namespaces: readonly string[] | null
  /** Lower roles, each with the other namespaces in which the role counts. Higher roles come first. */
  readonly lowerRoles: readonly LowerRole[]
}

const RANKS = ['viewer', 'member', 'admin'] as const
const EVERYBODY = '*'

/**
 * Returns the access that these groups of the provider give. Each role counts in the namespaces of the groups that
 * give the role, so that the namespaces of a low role do not extend those of a high role. Approver groups are
 * combined. Returns null when no group gives a role.
 */
export function accessOf(groups: readonly string[], table: ReadonlyMap<string, GroupAccess>): Access | null {
  const given = [...new Set([...groups, EVERYBODY])].flatMap((name) => table.get(name) ?? [])
  const [first, ...lower] = RANKS.toReversed().flatMap((role) => rolesIn(given, role))
  if (first === undefined) return null
  const { role, namespaces } = first
  const approverGroups = sorted(given.flatMap((entry) => entry.approverGroups))
  // A role in every namespace includes all lower roles, so the list of lower roles is empty.
  return { role, namespaces, approverGroups, lowerRoles: namespaces === null ? [] : lower.filter(isLower) }
}

type RoleIn = Pick<Access, 'role' | 'namespaces'>

function rolesIn(given: readonly GroupAccess[], role: Access['role']): readonly RoleIn[] {
  const lists = given.filter((entry) => entry.role === role).map(({ namespaces }) => namespaces)
  if (lists.length === 0) return []
  return [{ role, namespaces: lists.includes(null) ? null : sorted(lists.flatMap((list) => list ?? [])) }]
}

function isLower(entry: RoleIn): entry is LowerRole {
  return entry.role !== 'admin'
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}
