import type { ApprovalCard } from '../../../../core/wire/internal.ts'
import type { Me, UserList } from '../../api/shapes.ts'
import { missingText } from './card/approver-sets.tsx'

/**
 * Why this person may not answer, or null. The same rule as the server's: each person answers once, for any set that
 * names one of their groups; a set whose groups have no members is left to admins. `users` null: not known, the server
 * decides.
 */
export function answerObstacle(
  user: Me['user'],
  card: Pick<ApprovalCard, 'required_groups' | 'answers'>,
  users: UserList['users'] | null,
): string | null {
  if (card.answers.some(({ by }) => by === user.email)) {
    return `You have approved this. It still needs ${missingText(card)}.`
  }
  const isMine = ({ groups }: ApprovalCard['required_groups'][number]) =>
    groups.length === 0 ||
    groups.some((group) => user.groups.includes(group)) ||
    (isAdmin(user) && !isStaffed(groups, users))
  if (card.required_groups.length === 0 || card.required_groups.some(isMine)) return null
  const own = user.groups.length === 0 ? 'You are in no group' : `You are in ${user.groups.join(', ')}`
  return `This needs an approver of ${missingText(card)}. ${own}.`
}

/** In all namespaces: an admin of some stands in for no group. */
function isAdmin({ role, namespaces }: Me['user']): boolean {
  return (role === 'owner' || role === 'admin') && namespaces == null
}

function isStaffed(groups: readonly string[], users: UserList['users'] | null): boolean {
  return (
    users?.some(
      (other) => other.status === 'active' && other.groups.some((group) => groups.includes(group)),
    ) === true
  )
}
