import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { HoldBody, HoldReply, SpendReply } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard, ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import type { ClusterGroups } from './answers/answerable-sets.ts'
import type { ConfirmAnswer } from './answers/earlier-answers.ts'
import { type Respond, type Response, respond } from './answers/service.ts'
import { removeAsker } from './asker-store.ts'
import { approvalCard } from './card.ts'
import type { HoldOwner } from './hold-input.ts'
import { bindingOf, instanceOf, openHold } from './holds.ts'
import { type ApprovalFilter, listApprovals } from './list-store.ts'
import type { ApprovalRow } from './store.ts'
import { getApproval, spendHold } from './store.ts'

export type ApprovalsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Resolves whether RBAC of the cluster lets an approver group answer. Absent outside a cluster. */
  readonly clusterGroups?: ClusterGroups | undefined
  /** Confirms earlier answers before an approving answer. Default: earlier answers count without a confirmation. */
  readonly confirmAnswer?: ConfirmAnswer | undefined
  /** Returns the kill switches that are broadcast to gateways but not stored in the database yet. */
  readonly announcedKills: () => readonly KillEntry[]
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
   * Removes the waiting request `asker` from a hold, because its client disconnected. Throws `not_found` as `spend`
   * does.
   */
  leave(
    holder: HoldHolder,
    id: string,
    left: { readonly binding: string; readonly asker: string },
  ): Promise<void>
  /**
   * Records an answer. The approval stays pending until every required set has an answer; one denial ends it. Throws
   * `not_found`, `conflict` (ended, or already answered by this user), `gone` (expired), `forbidden` (not in a required
   * group).
   */
  respond(answer: Respond): Promise<Response>
  /** Lists the approvals of agents in the given namespaces. */
  list(
    namespaces: Namespaces,
    filter: ApprovalFilter,
  ): Promise<{ readonly approvals: ApprovalCard[]; readonly total: number }>
  get(id: string): Promise<ApprovalRow | undefined>
}

export type { ApprovalFilter, Respond, Response }

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { db, orgId, onEnded } = deps
  return {
    async hold(owner, body) {
      const reply = await db.tx((q) => openHold(q, { ...deps, owner, body, onEnded }))
      if (reply.outcome === 'created' || reply.outcome === 'deferred') deps.onOpened?.(reply.approval)
      return reply
    },
    async spend(holder, id, binding) {
      const { gatewayId } = holder
      await statusOfHold(db, holder, id)
      const key = {
        id,
        gatewayId,
        binding: await bindingOfHolder(db, holder, binding),
        windowS: LIMITS.approvedRetryWindowS,
      }
      const spent = await spendHold(db, key)
      return { spent, status: await statusOfHold(db, holder, id) }
    },
    async leave(holder, id, { binding, asker }) {
      const { gatewayId } = holder
      await statusOfHold(db, holder, id)
      const bound = await bindingOfHolder(db, holder, binding)
      await removeAsker(db, { id, gatewayId, binding: bound, asker })
    },
    respond: (answer) => respond(deps, answer),
    async list(namespaces, filter) {
      const { rows, total } = await listApprovals(createScopedQuery(db, namespaces), orgId, filter)
      return { approvals: rows.map(approvalCard), total }
    },
    get: (id) => getApproval(db, id),
  }
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
