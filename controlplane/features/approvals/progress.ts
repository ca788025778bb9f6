import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import { satisfiedBy } from '../../../core/state/approver-answers.ts'
import { type ApproverIdentity, areDistinctApprovers } from '../../../core/state/approver-identity.ts'
import type { RequiredGroupsView } from '../../../core/wire/gateway/internal.ts'
import { identityOf } from './answers/answering-user.ts'
import type { ApprovalRow } from './rows.ts'

/** Progress of an approval: which of its required sets of approver groups have an answer. */
export type ApprovalProgress = {
  /** For each required set, the user whose answer satisfies the set; null while the answer is missing. */
  readonly answeredBy: ReadonlyArray<string | null>
  readonly answeredGroups: string[]
  /** Required sets of approver groups that no answer satisfies yet. */
  readonly missing: readonly RequiredGroupsView[]
  /** True when at least one answer approves and every required set has an answer. */
  readonly isComplete: boolean
}

export function approvalProgress({
  requiredGroups,
  answers,
}: Pick<ApprovalRow, 'requiredGroups' | 'answers'>): ApprovalProgress {
  const approving = answers.filter(({ approved }) => approved)
  const approvers = approving.map(identityOf)
  const found = satisfiedBy(
    requiredGroups,
    approving.map(({ sets }) => sets),
    (a, b) => areDistinct(approvers[a], approvers[b]),
  )
  const answerOf = found.map((index) => (index === null ? undefined : approving[index]))
  const answered = requiredGroups.map(({ groups }, set) => ({
    groups: groups.filter((group) => answerOf[set]?.groups.includes(group)),
  }))
  const missing = requiredGroups.filter((_, set) => answerOf[set] === undefined)
  return {
    answeredBy: answerOf.map((answer) => answer?.by ?? null),
    answeredGroups: groupNames(answered),
    missing,
    isComplete: approving.length > 0 && missing.length === 0,
  }
}

function areDistinct(a: ApproverIdentity | undefined, b: ApproverIdentity | undefined): boolean {
  return a !== undefined && b !== undefined && areDistinctApprovers(a, b)
}
