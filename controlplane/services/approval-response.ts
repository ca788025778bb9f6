import { ChaperoneError } from '../../core/errors.ts'
import { moveApproval } from '../../core/state/approval.ts'
import type { ApprovalStatus } from '../../core/wire/internal.ts'
import type { Role } from '../http/route.ts'
import {
  type ApprovalKind,
  type ApprovalRow,
  answerApproval,
  getApproval,
  isAnybodyInGroups,
} from '../store/approvals.ts'
import { appendAudit } from '../store/audit.ts'
import type { Query } from '../store/query.ts'
import type { ApprovalsDeps } from './approvals.ts'

/**
 * Who answers. A `user` has signed in (or bears an approver key, or the install's admin token); `operator` holds the
 * token of a gateway's internal API, which names no person and is in no group; `chat` was verified by its
 * signature and mapped to nobody in particular.
 */
export type Answerer =
  | {
      readonly kind: 'user'
      readonly userId: string
      readonly email: string
      readonly role: Role
      readonly groups: readonly string[]
    }
  | {
      readonly kind: 'operator'
      /** As the caller claims it: the token of the internal API names no person. */
      readonly name: string
      readonly gatewayId: string
      readonly gateway: string
    }

export type Respond = {
  readonly id: string
  /** Ids of other kinds are not found: v1 answers `apr_`, the internal API `apv_`, the dashboard both. */
  readonly kinds: readonly ApprovalKind[]
  readonly approved: boolean
  readonly note: string | null
  readonly by: Answerer
  /** `dashboard`, `cli`, `api`, `internal`, `chat`. */
  readonly via: string
}

export type Response = {
  readonly id: string
  readonly status: ApprovalStatus
  readonly approval: ApprovalRow
}

/** Answers once: state, audit row and the word to the gateways commit together. */
export async function respond({ db, orgId, onEnded }: ApprovalsDeps, answer: Respond): Promise<Response> {
  return db.tx(async (q) => {
    const row = await getApproval(q, answer.id)
    if (row === undefined || !isVisible(row, answer)) throw notFound(answer.id)
    refuseEnded(row)
    await refuseOutsiders(q, row, answer.by)
    const { id, via, note } = answer
    const status = answer.approved ? 'approved' : 'denied'
    const ended = await answerApproval(q, { id, status, by: nameOf(answer.by), via, note })
    if (ended === undefined) throw await whyNot(q, answer.id)
    await appendAudit(q, { ...answeredEvent(ended, answer), orgId })
    await onEnded?.(q, ended)
    return { id: ended.id, status: ended.status, approval: ended }
  })
}

function answeredEvent(row: ApprovalRow & { readonly responseS: number }, answer: Respond) {
  return {
    eventType: 'approval.responded' as const,
    agentId: row.agentId,
    userId: answer.by.kind === 'user' ? answer.by.userId : null,
    actionRequestId: row.actId,
    details: {
      approved: answer.approved,
      responded_by: nameOf(answer.by),
      response_time_seconds: Math.round(row.responseS * 1_000) / 1_000,
      note: answer.note,
      approval_id: row.id,
      via: answer.via,
      ...(answer.by.kind === 'operator' && { responded_by_claimed: true, gateway: answer.by.gateway }),
    },
  }
}

function nameOf(by: Answerer): string {
  return by.kind === 'user' ? by.email : by.name
}

function isVisible(row: ApprovalRow, { kinds, by }: Respond): boolean {
  return kinds.includes(row.kind) && (by.kind === 'user' || row.gatewayId === by.gatewayId)
}

/** Null while it can be answered. Overdue counts as expired, whether the sweeper has been there or not. */
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

/** Where groups are named, one of them must be the answerer's. A group nobody is in would lock the request for ever. */
async function refuseOutsiders(q: Query, row: ApprovalRow, by: Answerer): Promise<void> {
  const wanted = row.requiredApproverGroups
  if (wanted.length === 0) return
  if (by.kind === 'operator') throw namesNoPerson(row)
  if (wanted.some((group) => by.groups.includes(group))) return
  const isAdmin = by.role === 'owner' || by.role === 'admin'
  if (isAdmin && !(await isAnybodyInGroups(q, row.orgId, wanted))) return
  throw new ChaperoneError('forbidden', {
    detail: `${row.id} needs somebody of the group ${wanted.join(' or ')}; you are in ${by.groups.join(', ') || 'no group'}`,
    extra: { required_approver_groups: wanted },
  })
}

function namesNoPerson({ id, requiredApproverGroups: wanted }: ApprovalRow): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail: `${id} needs a person of the group ${wanted.join(' or ')}, and the token of the internal API names no person. Answer in the dashboard, in the chat, or with an approver key of such a person.`,
    extra: { required_approver_groups: wanted },
  })
}

/** Somebody was quicker, or time ran out between the look and the answer. */
async function whyNot(q: Query, id: string): Promise<ChaperoneError> {
  const row = await getApproval(q, id)
  return (row && endedError(row)) ?? notFound(id)
}

function notFound(id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    error: 'Approval not found',
    detail: `There is no approval ${id} here; list the pending ones for their ids`,
  })
}
