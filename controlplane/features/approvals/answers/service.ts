import { namespaceOf } from '../../../../core/decision/kill-switch/kill-reach.ts'
import { requiredText } from '../../../../core/decision/policies/required-groups.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { moveApproval } from '../../../../core/state/approval.ts'
import { type ApproverIdentity, isSameApprover } from '../../../../core/state/approver-identity.ts'
import { covers, type Namespaces, type Role } from '../../../../core/wire/access/rights.ts'
import type { ApprovalStatus } from '../../../../core/wire/gateway/internal.ts'
import type { ClusterUser } from '../../../db/cluster-user.ts'
import type { Query } from '../../../db/query.ts'
import { type Actor, gatewayActor, systemActor } from '../../audit/actor.ts'
import { recordEvent } from '../../audit/events.ts'
import { outdateCard } from '../../chat/card/nonce.ts'
import { type GrantOfAnswer, makeGrant } from '../grants/make-grant.ts'
import { approvalProgress } from '../progress.ts'
import { type ApprovalKind, type ApprovalRow, getApproval, type StoredAnswer } from '../rows.ts'
import type { ApprovalsDeps } from '../service.ts'
import { lockApproval } from '../store.ts'
import { answerableSets } from './answerable-sets.ts'
import { approverIdentity, identityOf } from './answering-user.ts'
import { currentAnswerer } from './current-answerer.ts'
import { type ConfirmAnswer, voidAnswers } from './earlier-answers.ts'
import { addAnswer, dropVoidAnswers, type EndedApproval, endApproval } from './store.ts'

/**
 * The caller that answers an approval. `user`: authenticated by a session, an approver key, the installation's admin
 * token or the cluster. `operator`: authenticated by the token of a gateway's internal API, which identifies no user
 * and belongs to no group.
 */
export type Answerer =
  | {
      readonly kind: 'user'
      /** Id of the user's account; null for the admin token of the command line, which belongs to no user. */
      readonly userId: string | null
      readonly email: string
      readonly role: Role
      readonly groups: readonly string[]
      /** Kind of credential with which the cluster authenticated the user; absent for accounts of this installation. */
      readonly clusterCredential?: 'token' | 'certificate' | undefined
      readonly clusterUser?: ClusterUser | undefined
      /** Namespaces of the agents whose approvals the user may answer. */
      readonly namespaces: Namespaces
    }
  | {
      readonly kind: 'operator'
      /**
       * Name that the caller claims. The name is not verified, because the token of the internal API identifies no
       * user.
       */
      readonly name: string
      readonly gatewayId: string
      readonly gateway: string
    }

export type Respond = {
  readonly id: string
  /**
   * Kinds of approvals that the caller may answer. Other kinds are reported as not found. The v1 API answers ids with
   * the prefix `apr_`, the internal API those with `apv_`, the dashboard both.
   */
  readonly kinds: readonly ApprovalKind[]
  readonly approved: boolean
  readonly note: string | null
  readonly by: Answerer
  /** Channel of the answer: `dashboard`, `cli`, `api`, `internal` or `chat`. */
  readonly via: string
  /**
   * Grant for later requests that the answer creates. Undefined when the answer creates no grant; answers from the
   * chat never create one.
   */
  readonly grant?: GrantOfAnswer | undefined
  /** Runs in the transaction that stores an accepted answer. If the function rejects, the answer is rolled back. */
  readonly within?: ((q: Query) => Promise<void>) | undefined
}

export type Response = {
  readonly id: string
  /** Status of the approval after the answer: `pending` while answers of other groups are missing. */
  readonly status: ApprovalStatus
  readonly answeredGroups: string[]
  readonly approval: ApprovalRow
  /** Id of the grant that the answer made. */
  readonly grantId?: string | undefined
}

/**
 * Records the answer of one approver, and ends the approval when every required set of approver groups has an answer.
 * One transaction commits the answer, the state, the audit event and the notification of the gateways. Concurrent
 * answers to one approval are serialised. Before an approving answer, all earlier answers are confirmed.
 */
export async function respond(
  { db, orgId, onEnded, clusterGroups, confirmAnswer, platformNamespaces }: ApprovalsDeps,
  given: Respond,
): Promise<Response> {
  const voidUsers = await notConfirmed(db, given, confirmAnswer)
  return db.tx(async (q) => {
    const locked = await lockApproval(q, given.id)
    if (locked === undefined) throw notFound(given.id)
    const by = await currentAnswerer(q, given.by, namespaceOf(locked.agent) || null)
    const answer = { ...given, by }
    if (!isVisible(locked, answer)) throw notFound(given.id)
    refuseEnded(locked)
    const row = await dropVoidAnswers(q, locked, voidUsers)
    const person = await approverIdentity(q, answer.by)
    refuseSecondAnswer(row, answer.by, person)
    const own = await answerableSets(q, { row, clusterGroups }, answer.by)
    const answered = await addAnswer(q, row.id, { ...answerOf(answer), person, ...own })
    if (answered === undefined) throw await whyNot(q, answer.id)
    await answer.within?.(q)
    const after = (await endedBy(q, answered, answer)) ?? answered
    await recordEvent(q, { ...answeredEvent(after, answer, goneSince(locked, row)), orgId })
    const grantId = await grantOf(q, { row: after, answer, orgId, platformNamespaces })
    await (after.status === 'pending' ? outdateCard(q, after.id) : onEnded?.(q, after))
    return {
      id: after.id,
      status: after.status,
      answeredGroups: approvalProgress(after).answeredGroups,
      approval: after,
      grantId,
    }
  })
}

async function grantOf(
  q: Query,
  given: {
    readonly row: ApprovalRow
    readonly answer: Respond
    readonly orgId: string
    readonly platformNamespaces: ReadonlySet<string>
  },
): Promise<string | undefined> {
  const { answer, ...rest } = given
  if (answer.grant === undefined) return undefined
  const by = { by: nameOf(answer.by), actor: actorOf(answer.by) }
  return (await makeGrant(q, { ...rest, ...by, grant: answer.grant })).id
}

/**
 * Returns the users whose earlier answers have become void. Skips the check and returns none unless the answer approves
 * and the caller may read the pending approval.
 */
async function notConfirmed(
  db: Query,
  answer: Respond,
  confirmAnswer: ConfirmAnswer | undefined,
): Promise<readonly string[]> {
  if (!answer.approved || confirmAnswer === undefined) return []
  const row = await getApproval(db, answer.id)
  const isAsked = row !== undefined && isVisible(row, answer) && endedError(row) === null
  return isAsked ? voidAnswers(row, confirmAnswer) : []
}

/** Ends the approval and returns it. Returns undefined while required answers are missing. */
async function endedBy(
  q: Query,
  row: ApprovalRow,
  { approved, by, via, note }: Respond,
): Promise<EndedApproval | undefined> {
  if (!approved) return endApproval(q, { id: row.id, status: 'denied', by: nameOf(by), via, note })
  if (!approvalProgress(row).isComplete) return undefined
  const names = [...new Set(row.answers.map((answer) => answer.by))].join(', ')
  return endApproval(q, { id: row.id, status: 'approved', by: names, via, note })
}

function answerOf({ approved, by, via, note }: Respond) {
  const user = by.kind === 'user' ? { user_id: by.userId, cluster_user: by.clusterUser } : { user_id: null }
  return { ...user, by: nameOf(by), approved, via, note }
}

function refuseSecondAnswer(row: ApprovalRow, by: Answerer, person: ApproverIdentity | null): void {
  const isSame = (answer: StoredAnswer) =>
    person === null
      ? answer.user_id === null && answer.by === nameOf(by)
      : answer.user_id !== null && isSameApprover(identityOf(answer), person)
  if (!row.answers.some(isSame)) return
  const missing = requiredText(approvalProgress(row).missing)
  throw new ChaperoneError('conflict', {
    error: 'Already answered',
    detail: `You have already answered ${row.id}. An answer counts once and cannot be changed. Still missing: ${missing}.`,
  })
}

/** Returns the names of the users whose earlier answers were removed between the two reads of the approval. */
function goneSince(before: ApprovalRow, { answers: left }: ApprovalRow): readonly string[] {
  const isLeft = ({ by, at }: StoredAnswer) => left.some((answer) => answer.by === by && answer.at === at)
  return before.answers.filter((answer) => !isLeft(answer)).map(({ by }) => by)
}

function answeredEvent(row: EndedApproval, answer: Respond, gone: readonly string[]) {
  return {
    type: 'approval.responded' as const,
    agentId: row.agentId,
    actor: actorOf(answer.by),
    actionRequestId: row.actId,
    details: {
      approved: answer.approved,
      responded_by: nameOf(answer.by),
      response_time_seconds: Math.round(row.responseS * 1_000) / 1_000,
      note: answer.note,
      approval_id: row.id,
      via: answer.via,
      ...(answer.by.kind === 'operator' && { responded_by_claimed: true, gateway: answer.by.gateway }),
      approval_status: row.status,
      answered_groups: approvalProgress(row).answeredGroups,
      ...(gone.length > 0 && { void_answers: gone }),
    },
  }
}

/**
 * Returns the actor for the audit log. An answer through the internal API has its gateway as actor, because the token
 * belongs to the gateway and the name in the call is not verified.
 */
function actorOf(by: Answerer): Actor {
  if (by.kind === 'operator') return gatewayActor(by.gateway)
  return by.userId === null ? systemActor(by.email) : { kind: 'user', userId: by.userId, label: by.email }
}

function nameOf(by: Answerer): string {
  return by.kind === 'user' ? by.email : by.name
}

function isVisible(row: ApprovalRow, { kinds, by }: Respond): boolean {
  if (!kinds.includes(row.kind)) return false
  return by.kind === 'user'
    ? covers(by.namespaces, namespaceOf(row.agent) || null)
    : row.gatewayId === by.gatewayId
}

/**
 * Returns the error for an approval that has ended; null while the approval can be answered. An overdue approval counts
 * as expired, even before the sweeper stores the expiry.
 */
function endedError(row: ApprovalRow): ChaperoneError | null {
  const moved = moveApproval(row.status === 'pending' && row.isOverdue ? 'expired' : row.status, 'approve')
  if (moved.ok) return null
  const error = moved.code === 'gone' ? 'Approval expired' : 'Approval already resolved'
  return new ChaperoneError(moved.code, { error, detail: moved.detail })
}

function refuseEnded(row: ApprovalRow): void {
  const error = endedError(row)
  if (error !== null) throw error
}

/**
 * Returns the error of an answer that lost a race: another answer or the expiry ended the approval between the read and
 * the write.
 */
async function whyNot(q: Query, id: string): Promise<ChaperoneError> {
  const row = await getApproval(q, id)
  return (row && endedError(row)) ?? notFound(id)
}

function notFound(id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    error: 'Approval not found',
    detail: `There is no approval ${id}. List the pending approvals to find its id.`,
  })
}
