import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import type { ApproverIdentity } from '../../../core/state/approver-identity.ts'
import type { InstanceFact } from '../../../core/wire/gateway/instance.ts'
import type {
  ApprovalStatus,
  HeaderField,
  PinView,
  RequiredGroupsView,
  UnreadBody,
} from '../../../core/wire/gateway/internal.ts'
import { newId } from '../../crypto/ids.ts'
import type { ClusterUser } from '../../db/cluster-user.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { SYNC_CHANNEL } from '../../db/sync-channel.ts'
import { ALL_ANSWERS_COUNT } from './answers/counting-store.ts'

export type ApprovalKind = 'action' | 'hold'

/** Facts of an approval card. The facts never change after the approval was opened. */
export type CardFacts = InstanceFact & {
  readonly action_type: string
  readonly connector: string | null
  /** Name of the Connector; absent in approvals of older gateways. */
  readonly connector_name?: string
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
  /**
   * Pins: states of the target, such as a commit, for which the approval is valid. Absent on cards of v1 actions, and
   * of gateways of older versions.
   */
  readonly pins?: readonly PinView[] | undefined
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
  /** Groups of these sets for which the approver answered. */
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

export type ApprovalInput = Pick<
  ApprovalRow,
  'orgId' | 'kind' | 'gatewayId' | 'agent' | 'actId' | 'binding' | 'card' | 'requiredGroups'
> & { readonly timeoutS: number; readonly asker?: string | undefined }

export const APPROVAL_COLUMNS = `id, org_id as "orgId", kind, status, gateway_id as "gatewayId", agent, act_id as "actId", binding, card,
  (select a.id from agents a where a.org_id = approvals.org_id and a.name = approvals.agent
   and a.status <> 'revoked') as "agentId",
  required_approver_groups as "requiredApproverGroups", answers, required_groups as "requiredGroups",
  created_at as "createdAt", expires_at as "expiresAt",
  responded_at as "respondedAt", responded_by as "respondedBy", via, note, spent_at as "spentAt", left_at as "leftAt",
  expires_at <= clock_timestamp() as "isOverdue"`

/** Serialises the transactions that open approvals for one agent. The lock is held until the transaction ends. */
export async function lockAgentApprovals(q: Query, orgId: string, agent: string): Promise<void> {
  await q.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`approvals ${orgId} ${agent}`])
}

/**
 * Inserts the approval. The time to its expiry begins with this statement and not with the transaction, which may have
 * waited for locks.
 */
export async function insertApproval(q: Query, row: ApprovalInput): Promise<ApprovalRow> {
  const { rows } = await q.query<ApprovalRow>(
    `insert into approvals (id, org_id, kind, gateway_id, agent, act_id, binding, card, required_approver_groups,
       required_groups, created_at, expires_at, waiting_requests)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, statement_timestamp(),
       statement_timestamp() + make_interval(secs => $11), array_remove(array[$12::text], null)) returning ${APPROVAL_COLUMNS}`,
    [
      newId(row.kind === 'hold' ? 'hold' : 'approval'),
      row.orgId,
      row.kind,
      row.gatewayId,
      row.agent,
      row.actId,
      row.binding,
      JSON.stringify(row.card),
      groupNames(row.requiredGroups),
      JSON.stringify(row.requiredGroups),
      row.timeoutS,
      row.asker ?? null,
    ],
  )
  return onlyRow(rows)
}

/** Inserts a hold that an approval of its action has already released. The hold is never pending. */
export async function insertApprovedHold(
  q: Query,
  row: Omit<ApprovalInput, 'kind' | 'timeoutS' | 'requiredGroups'> & { readonly by: string },
): Promise<ApprovalRow> {
  const { rows } = await q.query<ApprovalRow>(
    `insert into approvals (id, org_id, kind, status, gateway_id, agent, act_id, binding, card, created_at, expires_at,
       responded_at, responded_by, via)
     values ($1, $2, 'hold', 'approved', $3, $4, $5, $6, $7, statement_timestamp(), statement_timestamp(),
       clock_timestamp(), $8, 'api') returning ${APPROVAL_COLUMNS}`,
    [
      newId('hold'),
      row.orgId,
      row.gatewayId,
      row.agent,
      row.actId,
      row.binding,
      JSON.stringify(row.card),
      row.by,
    ],
  )
  return onlyRow(rows)
}

/**
 * Key of a hold. The gateway process computes the binding (hash of the request), so the key also contains the agent: a
 * sidecar must not use a hold of another agent of its Gateway.
 */
export type HoldKey = { readonly gatewayId: string; readonly binding: string; readonly agent: string }

/** Returns the pending hold of exactly this request. Ignores overdue holds. */
export async function findPendingHold(
  q: Query,
  { gatewayId, binding, agent }: HoldKey,
): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS} from approvals where kind = 'hold' and status = 'pending' and gateway_id = $1 and binding = $2
       and agent = $3 and expires_at > clock_timestamp()`,
    [gatewayId, binding, agent],
  )
  return rows[0]
}

/**
 * Returns an unused approval of exactly this request, given at most `windowS` seconds ago. The approvers must still
 * have the right to answer.
 */
export async function findUnspentHold(
  q: Query,
  key: HoldKey & { readonly windowS: number },
): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS} from approvals where kind = 'hold' and status = 'approved' and gateway_id = $1 and binding = $2
       and agent = $3 and spent_at is null and responded_at > clock_timestamp() - make_interval(secs => $4)
       and ${ALL_ANSWERS_COUNT}
     order by created_at desc limit 1`,
    [key.gatewayId, key.binding, key.agent, key.windowS],
  )
  return rows[0]
}

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

/** Returns an approval in any state. Locks the row against answers, cancellation and use until the transaction ends. */
export async function lockApproval(q: Query, id: string): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS} from approvals where id = $1 for update`,
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
 * Marks an approved hold as used by the bound request. Returns true exactly once per hold, and only while its approvers
 * still have the right to answer.
 */
export async function spendHold(
  q: Query,
  key: {
    readonly id: string
    readonly gatewayId: string
    readonly binding: string
    readonly windowS: number
  },
): Promise<boolean> {
  const { rowCount } = await q.query(
    `update approvals set spent_at = clock_timestamp()
     where id = $1 and gateway_id = $2 and binding = $3 and kind = 'hold' and status = 'approved' and spent_at is null
       and responded_at > clock_timestamp() - make_interval(secs => $4) and ${ALL_ANSWERS_COUNT}`,
    [key.id, key.gatewayId, key.binding, key.windowS],
  )
  return rowCount === 1
}

/** Expires overdue approvals, at most 200 per call. Skips rows that another replica has locked. */
export async function expireOverdue(q: Query): Promise<readonly ApprovalRow[]> {
  const { rows } = await q.query<ApprovalRow>(
    `update approvals set status = 'expired', responded_at = clock_timestamp() where id in (
       select id from approvals where status = 'pending' and expires_at <= clock_timestamp()
       order by expires_at limit 200 for update skip locked) returning ${APPROVAL_COLUMNS}`,
    [],
  )
  for (const row of rows) await notifyAnswer(q, row)
  return rows
}

/** Returns whether an approval is pending, overdue ones included. */
export async function hasPending(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ found: boolean }>(
    "select exists(select 1 from approvals where status = 'pending') as found",
    [],
  )
  return onlyRow(rows).found
}

/** Reports whether an active account is in at least one of these groups. */
export async function hasGroupMembers(q: Query, orgId: string, groups: readonly string[]): Promise<boolean> {
  const { rows } = await q.query<{ found: boolean }>(
    `select exists(select 1 from users where org_id = $1 and status = 'active' and groups && $2::text[]) as found`,
    [orgId, groups],
  )
  return onlyRow(rows).found
}

/** Notifies the replicas at commit. Each replica then notifies its gateways. */
export async function notifyAnswer(q: Query, row: Pick<ApprovalRow, 'id'>): Promise<void> {
  await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, row.id])
}
