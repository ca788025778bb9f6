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
import { bindingOf, openHold } from './holds.ts'
import { type ApprovalFilter, listApprovals } from './list-store.ts'
import type { ApprovalRow } from './store.ts'
import { getApproval, spendHold } from './store.ts'

export type ApprovalsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Approver groups with members that only the cluster resolves. Absent outside a cluster. */
  readonly clusterGroups?: ClusterGroups | undefined
  /** Checks earlier answers before an approving one. Default: earlier answers count as stored. */
  readonly confirmAnswer?: ConfirmAnswer | undefined
  /** Returns the kill switches that are in force and not stored yet. */
  readonly announcedKills: () => readonly KillEntry[]
  /** Called in the transaction that ends an approval (answered or expired), to update its action request. */
  readonly onEnded?: (q: Query, row: ApprovalRow) => Promise<void>
  /** Called after a commit that opened an approval: wakes the sweeper and posts the chat card. */
  readonly onOpened?: (card: ApprovalCard) => void
}

/** A gateway process that holds requests. `agent`: the single agent of a sidecar; null otherwise. */
export type HoldHolder = { readonly gatewayId: string; readonly agent: string | null }

/** The state machine of `apr_` and `apv_` approvals. All times are database times. */
export type Approvals = {
  /**
   * Joins the open hold of the same request, returns an unspent approval, or opens a hold. Throws `too_many_holds`, and
   * `forbidden` for an agent of another gateway.
   */
  hold(owner: HoldOwner, body: HoldBody): Promise<HoldReply>
  /**
   * Resolves to true exactly once per approved hold. `not_found` for a hold of another gateway, or of another agent in
   * a pod.
   */
  spend(holder: HoldHolder, id: string, binding: string): Promise<SpendReply>
  /** Records that the last request waiting as `asker` disconnected. `not_found` as in `spend`. */
  leave(
    holder: HoldHolder,
    id: string,
    left: { readonly binding: string; readonly asker: string },
  ): Promise<void>
  /**
   * Records an answer. The approval stays pending until every required set has an answer; one deny ends it as denied.
   * Throws `not_found`, `conflict` (ended, or already answered by this user), `gone` (expired), `forbidden` (not in a
   * required group).
   */
  respond(answer: Respond): Promise<Response>
  /** Lists approvals of agents in the namespaces. */
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
        binding: bindingOf(gatewayId, binding),
        windowS: LIMITS.approvedRetryWindowS,
      }
      const spent = await spendHold(db, key)
      return { spent, status: await statusOfHold(db, holder, id) }
    },
    async leave(holder, id, { binding, asker }) {
      const { gatewayId } = holder
      await statusOfHold(db, holder, id)
      await removeAsker(db, { id, gatewayId, binding: bindingOf(gatewayId, binding), asker })
    },
    respond: (answer) => respond(deps, answer),
    async list(namespaces, filter) {
      const { rows, total } = await listApprovals(createScopedQuery(db, namespaces), orgId, filter)
      return { approvals: rows.map(approvalCard), total }
    },
    get: (id) => getApproval(db, id),
  }
}

async function statusOfHold(q: Query, { gatewayId, agent }: HoldHolder, id: string): Promise<ApprovalStatus> {
  const row = await getApproval(q, id)
  const isOwn = row?.gatewayId === gatewayId && (agent === null || row.agent === agent)
  if (row !== undefined && isOwn) return approvalCard(row).status
  throw new ChaperoneError('not_found', { detail: `This gateway has no approval ${id}; ask again` })
}
