import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import { newId } from '../../crypto/ids.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { SYNC_CHANNEL } from '../../db/sync-channel.ts'
import { ALL_ANSWERS_COUNT } from './answers/counting-store.ts'
import { APPROVAL_COLUMNS, type ApprovalRow, type StoredAnswer } from './rows.ts'

export type ApprovalInput = Pick<
  ApprovalRow,
  'orgId' | 'kind' | 'gatewayId' | 'agent' | 'actId' | 'binding' | 'card' | 'requiredGroups'
> & { readonly timeoutS: number; readonly asker?: string | undefined }

/**
 * Inserts the approval. The time to its expiry is counted from this statement and not from the start of the
 * transaction, because the transaction may have waited for locks.
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

/** Inserts a hold that an approval of its action, or a grant, has already released. The hold is never pending. */
export async function insertApprovedHold(
  q: Query,
  row: Omit<ApprovalInput, 'kind' | 'timeoutS' | 'requiredGroups'> & {
    readonly by: string
    readonly via?: 'grant'
    /** Id of the grant that released the hold. */
    readonly grantId?: string
    readonly note?: string
    /** Answers whose approvers must still have the right to answer when the hold is used. */
    readonly answers?: readonly StoredAnswer[]
  },
): Promise<ApprovalRow> {
  const { rows } = await q.query<ApprovalRow>(
    `insert into approvals (id, org_id, kind, status, gateway_id, agent, act_id, binding, card, created_at, expires_at,
       responded_at, responded_by, via, note, answers, grant_id)
     values ($1, $2, 'hold', 'approved', $3, $4, $5, $6, $7, statement_timestamp(), statement_timestamp(),
       clock_timestamp(), $8, $9, $10, $11, $12) returning ${APPROVAL_COLUMNS}`,
    [
      newId('hold'),
      row.orgId,
      row.gatewayId,
      row.agent,
      row.actId,
      row.binding,
      JSON.stringify(row.card),
      row.by,
      row.via ?? 'api',
      row.note ?? null,
      JSON.stringify(row.answers ?? []),
      row.grantId ?? null,
    ],
  )
  return onlyRow(rows)
}

/**
 * Columns that a statement returns for approvals that it ends. The column `isNotified` sends a notification to the
 * replicas at commit; each replica then notifies its gateways.
 */
export const ENDED_COLUMNS = `${APPROVAL_COLUMNS}, pg_notify('${SYNC_CHANNEL}', id) as "isNotified"`

/**
 * Key of a hold. The key contains the agent, because the gateway process computes the binding (hash of the request):
 * a sidecar must not be able to use the hold of another agent of its Gateway.
 */
export type HoldKey = { readonly gatewayId: string; readonly binding: string; readonly agent: string }

/**
 * Returns the hold that covers exactly this request: the pending hold, otherwise an unused approval that was given at
 * most `windowS` seconds ago and whose approvers still have the right to answer. Ignores overdue holds.
 */
export async function findCoveringHold(
  q: Query,
  key: HoldKey & { readonly windowS: number },
): Promise<ApprovalRow | undefined> {
  const { rows } = await q.query<ApprovalRow>(
    `select ${APPROVAL_COLUMNS} from approvals where kind = 'hold' and gateway_id = $1 and binding = $2 and agent = $3
       and (status = 'pending' and expires_at > clock_timestamp()
         or status = 'approved' and spent_at is null
           and responded_at > clock_timestamp() - make_interval(secs => $4) and ${ALL_ANSWERS_COUNT})
     order by status = 'pending' desc, created_at desc limit 1`,
    [key.gatewayId, key.binding, key.agent, key.windowS],
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

/**
 * Marks an approved hold as used by the request with this binding (hash of the request). Returns true exactly once per
 * hold, and only while its approvers still have the right to answer.
 */
export async function spendHold(
  q: Query,
  key: {
    readonly id: string
    readonly gatewayId: string
    /** The agent of a sidecar; null for a gateway process that serves several agents. */
    readonly agent: string | null
    readonly binding: string
    readonly windowS: number
  },
): Promise<boolean> {
  const { rowCount } = await q.query(
    `update approvals set spent_at = clock_timestamp()
     where id = $1 and gateway_id = $2 and binding = $3 and ($5::text is null or agent = $5)
       and kind = 'hold' and status = 'approved' and spent_at is null
       and responded_at > clock_timestamp() - make_interval(secs => $4) and ${ALL_ANSWERS_COUNT}`,
    [key.id, key.gatewayId, key.binding, key.windowS, key.agent],
  )
  return rowCount === 1
}

/** Reports whether an active account is in at least one of these groups. */
export async function hasGroupMembers(q: Query, orgId: string, groups: readonly string[]): Promise<boolean> {
  const { rows } = await q.query<{ found: boolean }>(
    `select exists(select 1 from users where org_id = $1 and status = 'active' and groups && $2::text[]) as found`,
    [orgId, groups],
  )
  return onlyRow(rows).found
}
