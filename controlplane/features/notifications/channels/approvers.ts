import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import type { UserRow } from '../../users/rows.ts'

/**
 * Returns the users who may answer an approval. When the required groups have no member, returns the owners and admins.
 */
export function approversOf(
  users: readonly UserRow[],
  { agent, required_groups: required }: Pick<ApprovalCard, 'agent' | 'required_groups'>,
): readonly UserRow[] {
  const able = users.filter((user) => user.status === 'active' && mayAnswer(user, namespaceOf(agent)))
  const groups = required.flatMap((set) => set.groups)
  if (groups.length === 0 || required.some((set) => set.groups.length === 0)) return able
  const members = able.filter((user) => user.groups.some((group) => groups.includes(group)))
  return members.length > 0 ? members : able.filter(({ role }) => role === 'owner' || role === 'admin')
}

function mayAnswer({ role, namespaces, lowerRoles }: UserRow, namespace: string): boolean {
  return [{ role, namespaces }, ...lowerRoles].some(
    (held) => held.role !== 'viewer' && (held.namespaces === null || held.namespaces.includes(namespace)),
  )
}
