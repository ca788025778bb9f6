import type { Me, UserList } from '../../api/shapes.ts'
import { mayAct } from '../../session/roles.ts'

/**
 * Why this person may not answer, or null. The same rule as the server's: one of the groups must be theirs; a group
 * that nobody is in leaves it to admins. `users` null: not known, the server will say.
 */
export function whyNotMine(
  user: Me['user'],
  groups: readonly string[],
  users: UserList['users'] | null,
): string | null {
  if (groups.length === 0 || groups.some((group) => user.groups.includes(group))) return null
  const isStaffed = users?.some(
    (other) => other.status === 'active' && other.groups.some((group) => groups.includes(group)),
  )
  if (mayAct(user.role, 'admin') && isStaffed !== true) return null
  const own = user.groups.length === 0 ? 'you are in no group' : `you are in ${user.groups.join(', ')}`
  return `Only somebody of ${groups.join(' or ')} may answer this; ${own}.`
}
