import type * as z from 'zod'
import type { ApproverIdentity } from '../../../core/state/approver-identity.ts'
import type { EffectWord } from '../../../core/wire/gateway/effect-word.ts'
import type { HeldBy } from '../../../core/wire/gateway/hold.ts'
import type { InstanceFact } from '../../../core/wire/gateway/instance.ts'
import type {
  ApprovalStatus,
  HeaderField,
  PinView,
  RequiredGroupsView,
  UnreadBody,
} from '../../../core/wire/gateway/internal.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { ClusterUser } from '../../db/cluster-user.ts'
import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { ALL_ANSWERS_COUNT } from './answers/counting-store.ts'

export type ApprovalKind = 'action' | 'hold'

/** Facts of an approval card. The facts never change after the approval was opened. */
export type CardFacts = InstanceFact & {
  readonly action_type: string
  readonly connector: string | null
  /** Name of the Connector; absent in approvals of older gateways. */
  readonly connector_name?: string
  /** Types and names of further Connectors whose hosts the provider reaches for the request. */
  readonly reached_connectors?: readonly string[]
  readonly target: string | null
  readonly method: string | null
  readonly host: string | null
  readonly path: string | null
  /** Header fields of the request; absent on cards of v1 actions, and of holds of older versions. */
  readonly headers?: readonly HeaderField[]
  readonly parameters: Record<string, unknown>
  readonly risk_score: number
  readonly risk_factors: string[]
  readonly matched_rule: string | null
  readonly requested_by_agent_text: string | null
  readonly body_sha256: string | null
  readonly unread_body?: UnreadBody | null
  /** Effect classes of the action; absent on cards of older versions. */
  readonly effects?: string[]
  /** Effect of the action; absent if the request has several actions, and on cards of older versions. */
  readonly effect?: z.infer<typeof EffectWord>
  /**
   * Pins: states of the target, such as a commit, for which the approval is valid. Absent on cards of v1 actions, and
   * of gateways of older versions.
   */
  readonly pins?: readonly PinView[] | undefined
  /** Rules that hold the request; absent if no grant can cover the request, and on cards of older versions. */
  readonly held_by?: HeldBy
  /** True for an access request, by which an agent asks for a permission without a held request. */
  readonly access_request?: boolean
}

/** Answer of one approver. `sets`: indices in `requiredGroups` of the sets that the answer satisfies. */
export type StoredAnswer = {
  readonly user_id: string | null
  /** Identity of the approver; null for a token that identifies no user. Absent in answers of older versions. */
  readonly person?: ApproverIdentity | null
  /**
   * User name and groups of a user of the cluster. Absent for accounts of this installation, and in answers of older
   * versions.
   */
  readonly cluster_user?: ClusterUser | undefined
  readonly by: string
  readonly approved: boolean
  readonly sets: readonly number[]
  /** Approver groups for which the approver answered. Each group belongs to one of the sets in `sets`. */
  readonly groups: readonly string[]
  readonly via: string
  readonly note: string | null
  /** Time of the answer, ISO 8601. */
  readonly at: string
}

export type ApprovalRow = {
  readonly id: string
  readonly orgId: string
  readonly kind: ApprovalKind
  readonly status: ApprovalStatus
  readonly gatewayId: string | null
  readonly agent: string
  /** Id of the unrevoked agent with this name; null when there is none. */
  readonly agentId: string | null
  readonly actId: string | null
  readonly binding: string | null
  readonly card: CardFacts
  /** All groups that the sets in `requiredGroups` name. */
  readonly requiredApproverGroups: string[]
  readonly requiredGroups: readonly RequiredGroupsView[]
  readonly answers: readonly StoredAnswer[]
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly respondedAt: Date | null
  readonly respondedBy: string | null
  readonly via: string | null
  readonly note: string | null
  readonly spentAt: Date | null
  /** Time when the last waiting client disconnected; null while a client waits. */
  readonly leftAt: Date | null
  /**
   * True when the approval had passed its expiry when the row was read, by the clock of the database. An overdue
   * pending approval counts as expired.
   */
  readonly isOverdue: boolean
}

export const APPROVAL_COLUMNS = `id, org_id as "orgId", kind, status, gateway_id as "gatewayId", agent, act_id as "actId", binding, card,
  (select a.id from agents a where a.org_id = approvals.org_id and a.name = approvals.agent
   and a.status <> 'revoked') as "agentId",
  required_approver_groups as "requiredApproverGroups", answers, required_groups as "requiredGroups",
  created_at as "createdAt", expires_at as "expiresAt",
  responded_at as "respondedAt", responded_by as "respondedBy", via, note, spent_at as "spentAt", left_at as "leftAt",
  expires_at <= clock_timestamp() as "isOverdue"`

export async function getApproval(q: Query, id: string): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(`select ${APPROVAL_COLUMNS} from approvals where id = $1`, [id])
  return rows[0]
}

/** Returns the approval if it is approved and its approvers still have the right to answer. */
export async function getUsableApproval(q: Query, id: string): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS} from approvals where id = $1 and status = 'approved' and ${ALL_ANSWERS_COUNT}`,
    [id],
  )
  return rows[0]
}

/** Returns at most 50 approvals of one action, oldest first. */
export async function listApprovalsOfAction(
  q: ScopedQuery,
  orgId: string,
  actId: string,
): Promise<readonly ApprovalRow[]> {
  const select = `select ${APPROVAL_COLUMNS} from approvals where org_id = $1 and act_id = $2`
  return q.rows<ApprovalRow>(
    [orgId, actId],
    (within) => `${select} and ${within.name('agent')} order by created_at, id limit 50`,
  )
}

/**
 * SQL condition on `approvals` that is true for an abandoned approval: all waiting clients have disconnected, the last
 * one more than `askerAbsenceS` seconds ago.
 */
export const IS_ABANDONED = `(left_at is not null and left_at <= clock_timestamp() - make_interval(secs => ${LIMITS.askerAbsenceS}))`

export type AnsweredHold = {
  readonly id: string
  readonly gatewayId: string
  readonly agent: string | null
  readonly status: ApprovalStatus
  readonly respondedBy: string | null
  readonly via: string | null
  readonly note: string | null
  readonly at: Date
}

/** Returns the holds that ended within the last `withinS` seconds, of one gateway or of all gateways. */
export async function listAnsweredHolds(
  q: Query,
  { withinS, gatewayId }: { readonly withinS: number; readonly gatewayId?: string },
): Promise<readonly AnsweredHold[]> {
  const { rows } = await q.query<AnsweredHold>(
    `select id, gateway_id as "gatewayId", agent, status, responded_by as "respondedBy", via, note, responded_at as at
     from approvals where kind = 'hold' and status <> 'pending' and gateway_id is not null
       and responded_at > clock_timestamp() - make_interval(secs => $1) and ($2::text is null or gateway_id = $2)
     order by responded_at`,
    [withinS, gatewayId ?? null],
  )
  return rows
}
