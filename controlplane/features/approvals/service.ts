import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { HoldBody, HoldReply, SpendReply } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard, ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { GrantObject } from '../../../core/wire/operator/grants.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import type { CancelApprovedAction } from '../actions/cancellation/service.ts'
import type { HeldExecutions } from '../actions/executions/held.ts'
import type { Actor } from '../audit/actor.ts'
import type { ClusterGroups } from './answers/answerable-sets.ts'
import type { ConfirmAnswer } from './answers/earlier-answers.ts'
import { type Respond, type Response, respond } from './answers/service.ts'
import { endApproval } from './answers/store.ts'
import { type Withdrawal, withdraw } from './answers/withdrawal.ts'
import { approvalCard } from './card.ts'
import { confirmGrants } from './grants/confirm-grants.ts'
import { endGrant } from './grants/end-grant.ts'
import { listGrantObjects } from './grants/grant-objects.ts'
import { findGrants, type GrantQuestion, type GrantRow, getGrant, listGrants } from './grants/store.ts'
import type { HoldOwner } from './holds/input.ts'
import { bindingOf, instanceOf, openHold } from './holds/service.ts'
import { removeWaitingRequest } from './holds/waiting-request-store.ts'
import { type ApprovalFilter, listApprovals } from './list-store.ts'
import { shareOpeningLock } from './opening-lock-store.ts'
import type { ApprovalRow } from './rows.ts'
import { getApproval } from './rows.ts'
import { type ApprovalInput, insertApproval, spendHold } from './store.ts'

export type ApprovalsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Resolves whether RBAC of the cluster lets an approver group answer. Absent outside a cluster. */
  readonly clusterGroups?: ClusterGroups | undefined
  /**
   * Resolves whether the approver of an earlier answer still has the right to answer. Called before an approving answer
   * is stored, and before a grant releases a hold. Default: answers count without a confirmation.
   */
  readonly confirmAnswer?: ConfirmAnswer | undefined
  /** Returns the kill switches that were already broadcast to gateways but are not stored in the database yet. */
  readonly announcedKills: () => readonly KillEntry[]
  /** Namespaces of the platform team, whose policies permit no grants. */
  readonly platformNamespaces: ReadonlySet<string>
  readonly executions: HeldExecutions
  /** Cancels the action of a withdrawn approval. Without this function, approvals of actions cannot be withdrawn. */
  readonly cancelAction?: CancelApprovedAction | undefined
  /**
   * Called in the transaction that ends an approval by an answer or by expiry. Updates the action request of the
   * approval.
   */
  readonly onEnded?: (q: Query, row: ApprovalRow) => Promise<void>
  /** Called after the commit that opened an approval. Wakes the expiry sweeper and posts the card to the chat. */
  readonly onOpened?: (card: ApprovalCard) => void
}

/**
 * The gateway process that holds a request. `agent`: the single agent that a sidecar serves; null for other gateway
 * processes.
 */
export type HoldHolder = {
  readonly gatewayId: string
  readonly agent: string | null
  readonly podUid: string | null
}

/**
 * Operations on approvals. Ids with the prefix `apr_` belong to actions of the v1 API, those with `apv_` to requests
 * that gateways hold. All times are times of the database.
 */
export type Approvals = {
  /**
   * Joins the pending hold of the same request, returns an unused approval of this request, or opens a hold. Throws
   * `too_many_holds`, and `forbidden` for an agent of another gateway.
   */
  hold(owner: HoldOwner, body: HoldBody): Promise<HoldReply>
  /**
   * Marks an approved hold as used. The reply has `spent: true` exactly once per hold. Throws `not_found` for a hold of
   * another gateway, and for a hold of another agent than that of the sidecar.
   */
  spend(holder: HoldHolder, id: string, binding: string): Promise<SpendReply>
  /**
   * Removes the waiting request `asker` from a hold, because its client disconnected. Throws `not_found` in
   * the same cases as `spend`.
   */
  leave(
    holder: HoldHolder,
    id: string,
    left: { readonly binding: string; readonly asker: string },
  ): Promise<void>
  /**
   * Records an answer. The approval stays pending until every required set has an answer; one denial ends the approval.
   * Throws `not_found`, `conflict` (ended, or already answered by this user), `gone` (expired), `forbidden` (not in a
   * required group).
   */
  respond(answer: Respond): Promise<Response>
  /**
   * Withdraws an approval that no gateway has used yet, or the user's own answer to an approval that is still
   * pending. Returns the new status. Throws `not_found`, and `conflict` if nothing can be withdrawn any more.
   */
  withdraw(withdrawal: Withdrawal): Promise<ApprovalStatus>
  /** Lists the approvals of agents in the given namespaces. */
  list(
    namespaces: Namespaces,
    filter: ApprovalFilter,
  ): Promise<{ readonly approvals: ApprovalCard[]; readonly total: number }>
  get(id: string): Promise<ApprovalRow | undefined>
  /** Lists the grants of agents in the given namespaces. */
  grants(namespaces: Namespaces): Promise<readonly GrantRow[]>
  /**
   * Returns the active grants of Gateways of the cluster. Each grant has the form of the Permission that shows the
   * grant in the cluster.
   */
  grantObjects(): Promise<readonly GrantObject[]>
  /** Returns the usable grants that may approve a held request. Does not compare parameters and rules. */
  grantsFor(asked: GrantQuestion): Promise<readonly GrantRow[]>
  /**
   * Revokes a grant, and cancels the holds that the grant released and that no request has used. Throws `not_found` for
   * a grant of another namespace, and `conflict` for a grant that was revoked before.
   */
  revokeGrant(namespaces: Namespaces, revoked: RevokedGrant): Promise<void>
}

export type RevokedGrant = { readonly id: string; readonly by: string; readonly actor: Actor }

export type { ApprovalFilter, Respond, Response }

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { db, orgId, onEnded } = deps
  return {
    async hold(owner, body) {
      const confirmedGrants = await confirmGrants(db, { owner, body }, deps.confirmAnswer)
      const reply = await db.tx((q) => openHold(q, { ...deps, owner, body, onEnded, confirmedGrants }))
      if (reply.outcome === 'created' || reply.outcome === 'deferred') deps.onOpened?.(reply.approval)
      return reply
    },
    async spend(holder, id, binding) {
      const { gatewayId, agent } = holder
      const bound = await bindingOfHolder(db, holder, binding)
      const windowS = LIMITS.approvedRetryWindowS
      const spent = await spendHold(db, { id, gatewayId, agent, binding: bound, windowS })
      return { spent, status: spent ? 'approved' : await statusOfHold(db, holder, id) }
    },
    async leave(holder, id, { binding, asker }) {
      const { gatewayId } = holder
      await statusOfHold(db, holder, id)
      const bound = await bindingOfHolder(db, holder, binding)
      await removeWaitingRequest(db, { id, gatewayId, binding: bound, asker })
    },
    respond: (answer) => respond(deps, answer),
    withdraw: (withdrawal) => db.tx((q) => withdraw(q, deps, withdrawal)),
    async list(namespaces, filter) {
      const { rows, total } = await listApprovals(createScopedQuery(db, namespaces), orgId, filter)
      return { approvals: rows.map(approvalCard), total }
    },
    get: (id) => getApproval(db, id),
    grants: (namespaces) => listGrants(createScopedQuery(db, namespaces)),
    grantObjects: () => listGrantObjects(db),
    grantsFor: (asked) => findGrants(db, asked),
    revokeGrant: (namespaces, revoked) => db.tx((q) => revoke(q, { orgId, namespaces, revoked })),
  }
}

async function revoke(
  q: Query,
  given: { readonly orgId: string; readonly namespaces: Namespaces; readonly revoked: RevokedGrant },
): Promise<void> {
  const { orgId, namespaces, revoked } = given
  const { id, by, actor } = revoked
  if ((await getGrant(createScopedQuery(q, namespaces), id)) === undefined)
    throw new ChaperoneError('not_found', {
      detail: `There is no grant ${id}. List the grants to find its id.`,
    })
  if (await endGrant(q, { id, orgId, by, actor })) return
  throw new ChaperoneError('conflict', {
    error: 'Already revoked',
    detail: `Grant ${id} is revoked already.`,
  })
}

async function bindingOfHolder(
  q: Query,
  { gatewayId, podUid }: HoldHolder,
  binding: string,
): Promise<string> {
  return bindingOf({ gatewayId, instance: await instanceOf(q, podUid) }, binding)
}

async function statusOfHold(q: Query, { gatewayId, agent }: HoldHolder, id: string): Promise<ApprovalStatus> {
  const row = await getApproval(q, id)
  const isOwn = row?.gatewayId === gatewayId && (agent === null || row.agent === agent)
  if (row !== undefined && isOwn) return approvalCard(row).status
  throw new ChaperoneError('not_found', {
    detail: `This gateway has no approval ${id}. Send the held request again.`,
  })
}

/** Opens the approval of an action in the caller's transaction. The caller records the audit event. */
export function openApproval(
  q: Query,
  approval: Omit<ApprovalInput, 'kind' | 'gatewayId'>,
): Promise<ApprovalRow> {
  return insertApproval(q, { ...approval, kind: 'action', gatewayId: null })
}

/** Cancels a pending approval for its agent. Returns false when the approval has ended or is overdue. */
export async function cancelApproval(q: Query, id: string, agent: string): Promise<boolean> {
  const end = { id, status: 'cancelled', by: agent, via: 'api', note: null } as const
  return (await endApproval(q, end)) !== undefined
}

/**
 * Takes the lock of `shareOpeningLock`. The caller must take the lock before it reads the kill switches: a concurrent
 * activation then cancels the approval that the caller opens, unless the caller has read the new kill switch.
 */
export function lockForOpening(q: Query): Promise<void> {
  return shareOpeningLock(q)
}
