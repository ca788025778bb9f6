import type { MeReply } from '../../../../core/wire/access/sessions.ts'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import type { UserList } from '../../../../core/wire/users.ts'
import { missingText } from './card/approver-sets.tsx'

/**
 * Returns the reason why the user cannot answer; null if the user can answer. The server enforces the same rule: each
 * user answers once, for every set of approver groups that contains one of the user's groups. An admin can answer for
 * a set whose groups have no members. `users`: null if the list of users is unknown; only the server then checks the
 * rule.
 */
export function answerObstacle(
  user: MeReply['user'],
  card: Pick<ApprovalCard, 'required_groups' | 'answers'>,
  users: UserList['users'] | null,
): string | null {
  if (card.answers.some(({ by }) => by === user.email)) {
    return `You have approved this request. The request still needs an answer of ${missingText(card)}.`
  }
  const isMine = ({ groups }: ApprovalCard['required_groups'][number]) =>
    groups.length === 0 ||
    groups.some((group) => user.groups.includes(group)) ||
    (isAdmin(user) && !isStaffed(groups, users))
  if (card.required_groups.length === 0 || card.required_groups.some(isMine)) return null
  const own = user.groups.length === 0 ? 'You are in no group' : `You are in ${user.groups.join(', ')}`
  return `This request needs an approver of ${missingText(card)}. ${own}.`
}

/** Reports whether the user is an admin of all namespaces. An admin of some namespaces cannot answer for a group. */
function isAdmin({ role, namespaces }: MeReply['user']): boolean {
  return (role === 'owner' || role === 'admin') && namespaces == null
}

function isStaffed(groups: readonly string[], users: UserList['users'] | null): boolean {
  return (
    users?.some(
      (other) => other.status === 'active' && other.groups.some((group) => groups.includes(group)),
    ) === true
  )
}
