import type { GroupAccess } from './settings.ts'

/** What a user of the provider has here. */
export type Access = {
  readonly role: 'admin' | 'member' | 'viewer'
  readonly approverGroups: readonly string[]
  /** Null = every namespace. */
  readonly namespaces: readonly string[] | null
}

const RANKS = ['viewer', 'member', 'admin'] as const
const EVERYBODY = '*'

/**
 * The access that these groups of the provider give: the highest role, in the namespaces of the groups that give this
 * role (a lower role elsewhere never widens a higher one), and every approver group. Null without a role.
 */
export function accessOf(groups: readonly string[], table: ReadonlyMap<string, GroupAccess>): Access | null {
  const given = [...new Set([...groups, EVERYBODY])].flatMap((name) => table.get(name) ?? [])
  const role = RANKS.findLast((rank) => given.some((entry) => entry.role === rank))
  if (role === undefined) return null
  const lists = given.filter((entry) => entry.role === role).map(({ namespaces }) => namespaces)
  return {
    role,
    approverGroups: sorted(given.flatMap(({ approverGroups }) => approverGroups)),
    namespaces: lists.includes(null) ? null : sorted(lists.flatMap((list) => list ?? [])),
  }
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort()
}
