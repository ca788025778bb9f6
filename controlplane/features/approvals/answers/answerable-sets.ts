import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { groupNames, requiredText } from '../../../../core/decision/policies/required-groups.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { hasRole } from '../../../../core/wire/access/rights.ts'
import type { RequiredGroupsView } from '../../../../core/wire/gateway/internal.ts'
import type { Query } from '../../../db/query.ts'
import type { ApprovalRow, StoredAnswer } from '../rows.ts'
import { hasGroupMembers } from '../store.ts'
import { isMachine } from './answering-user.ts'
import type { Answerer } from './service.ts'

/**
 * The required sets of an approval that one approver satisfies, and the groups of these sets. A required set lists
 * approver groups, one of which must answer.
 */
export type AnswerableSets = Pick<StoredAnswer, 'sets' | 'groups'>

/**
 * Resolves whether the cluster's RBAC lets the members of a group answer approvals in a namespace. If so, the group
 * counts as having members, even when no account of this installation is in the group. Rejects with `not_ready` when
 * the API server does not answer.
 */
export type ClusterGroups = (group: string, namespace: string) => Promise<boolean>

/**
 * Returns the required sets that the approver satisfies; at least one if the approval has required sets. Throws
 * `forbidden` for an approver outside all sets. Throws `forbidden` for an answer through the internal API of a
 * gateway where groups or different users are required, because the token of this API identifies no user. Where
 * different users are required, also throws `forbidden` for the admin token of the command line and for machine
 * identities of the cluster.
 */
export async function answerableSets(
  q: Query,
  { row, clusterGroups }: { readonly row: ApprovalRow; readonly clusterGroups?: ClusterGroups | undefined },
  by: Answerer,
): Promise<AnswerableSets> {
  const { requiredGroups } = row
  if (by.kind === 'operator') {
    if (requiredGroups.some(({ groups, distinct }) => groups.length > 0 || distinct)) throw needsIdentity(row)
    return { sets: [...requiredGroups.keys()], groups: [] }
  }
  if (by.userId === null && requiredGroups.some(({ distinct }) => distinct)) throw needsIdentity(row)
  if (isMachine(by) && requiredGroups.some(({ distinct }) => distinct)) throw needsPerson(row, by)
  const own: Array<readonly string[] | null> = []
  for (const set of requiredGroups) own.push(await ownGroups(q, { row, set, by, clusterGroups }))
  const sets = own.flatMap((groups, set) => (groups === null ? [] : [set]))
  if (sets.length === 0 && requiredGroups.length > 0) throw outsider(row, by)
  return { sets, groups: [...new Set(own.flatMap((groups) => groups ?? []))] }
}

type User = Extract<Answerer, { kind: 'user' }>
type Asked = {
  readonly row: ApprovalRow
  readonly set: RequiredGroupsView
  readonly by: User
  readonly clusterGroups: ClusterGroups | undefined
}

/**
 * Returns the groups of the set for which the approver may answer; null when there is none. If the groups of a set have
 * no members, owners and admins of all namespaces may answer for the set.
 */
async function ownGroups(
  q: Query,
  { row, set, by, clusterGroups }: Asked,
): Promise<readonly string[] | null> {
  if (set.groups.length === 0) return []
  const own = set.groups.filter((group) => by.groups.includes(group))
  if (own.length > 0) return own
  // An admin of some namespaces (a tenant) does not qualify: the groups of the platform team may have no members yet,
  // and the tenant's admin could answer for them.
  const isAdmin = hasRole(by.role, 'admin') && by.namespaces === 'all'
  if (!isAdmin || (await hasGroupMembers(q, row.orgId, set.groups))) return null
  const namespace = namespaceOf(row.agent)
  for (const group of set.groups) if (await clusterGroups?.(group, namespace)) return null
  return set.groups
}

function needsPerson({ id, requiredGroups }: ApprovalRow, { email }: User): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail: `Approval ${id} requires answers of different users in ${requiredText(requiredGroups)}, but ${email} is a ServiceAccount. Answer as a user.`,
    extra: { required_approver_groups: groupNames(requiredGroups) },
  })
}

function outsider({ id, requiredGroups }: ApprovalRow, by: User): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail: `Approval ${id} requires an approver of ${requiredText(requiredGroups)}. You are in ${by.groups.join(', ') || 'no group'}.`,
    extra: { required_approver_groups: groupNames(requiredGroups) },
  })
}

function needsIdentity({ id, requiredGroups }: ApprovalRow): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail: `Approval ${id} requires an approver of ${requiredText(requiredGroups)}, and this token identifies no user. Answer in the dashboard, in the chat, or with the approver key of an approver.`,
    extra: { required_approver_groups: groupNames(requiredGroups) },
  })
}
