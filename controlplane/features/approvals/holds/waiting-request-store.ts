import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'
import { APPROVAL_COLUMNS, type ApprovalRow, IS_ABANDONED } from '../rows.ts'
import { ENDED_COLUMNS, type HoldKey } from '../store.ts'

/**
 * Maximum number of waiting requests stored per approval. The limit is necessary because the requests of a crashed
 * gateway process are never removed.
 */
const MAX_WAITING_REQUESTS = 64

/**
 * Adds a waiting request to the approval. `asker`: id of the request. Gateways of older versions send no id, and their
 * approvals never count as abandoned.
 */
export async function addWaitingRequest(
  q: Query,
  id: string,
  asker: string | undefined,
): Promise<ApprovalRow> {
  const { rows } = await q.query<ApprovalRow>(
    `update approvals set left_at = null,
       waiting_requests = case when $2::text is null then '{}' else (array_prepend($2, array_remove(waiting_requests, $2)))[1:${MAX_WAITING_REQUESTS}] end
     where id = $1 returning ${APPROVAL_COLUMNS}`,
    [id, asker ?? null],
  )
  return onlyRow(rows)
}

/** Removes a waiting request from the approval. Stores the current time in `left_at` if no other request waits. */
export async function removeWaitingRequest(
  q: Query,
  key: Omit<HoldKey, 'agent'> & { readonly id: string; readonly asker: string },
): Promise<void> {
  await q.query(
    `update approvals set waiting_requests = array_remove(waiting_requests, $4),
       left_at = case when array_remove(waiting_requests, $4) = '{}' then clock_timestamp() end
     where id = $1 and gateway_id = $2 and binding = $3 and kind = 'hold' and status = 'pending' and $4 = any(waiting_requests)`,
    [key.id, key.gatewayId, key.binding, key.asker],
  )
}

/**
 * Expires holds of an agent to make room for a new hold: an overdue hold of the same request, and the oldest abandoned
 * holds (their clients have disconnected), so that fewer than `limit` abandoned holds remain.
 */
export async function expireForHold(
  q: Query,
  key: Omit<HoldKey, 'gatewayId'> & { readonly orgId: string; readonly limit: number },
): Promise<readonly ApprovalRow[]> {
  const { rows } = await q.query<ApprovalRow>(
    `update approvals set status = 'expired', responded_at = clock_timestamp(),
       expires_at = least(expires_at, clock_timestamp())
     where id = any(
       array(select id from approvals where binding = $4 and agent = $2 and kind = 'hold' and status = 'pending'
         and expires_at <= clock_timestamp() for update skip locked)
       || array(select id from approvals where org_id = $1 and agent = $2 and kind = 'hold' and status = 'pending'
         and ${IS_ABANDONED} order by created_at desc, id desc offset $3 for update skip locked))
     returning ${ENDED_COLUMNS}`,
    [key.orgId, key.agent, key.limit - 1, key.binding],
  )
  return rows
}

/** Counts the open access requests (requests for a permission) of an agent. */
export async function countAccessRequests(q: Query, orgId: string, agent: string): Promise<number> {
  const { rows } = await q.query<{ count: number }>(
    `select count(*)::int as count from approvals where org_id = $1 and agent = $2 and kind = 'hold'
       and status = 'pending' and expires_at > clock_timestamp() and card->'access_request' = 'true'`,
    [orgId, agent],
  )
  return onlyRow(rows).count
}

/** Counts the pending holds of an agent. Omits abandoned holds, whose clients have disconnected. */
export async function countPendingHolds(q: Query, orgId: string, agent: string): Promise<number> {
  const { rows } = await q.query<{ count: number }>(
    `select count(*)::int as count from approvals where org_id = $1 and agent = $2 and kind = 'hold'
       and status = 'pending' and expires_at > clock_timestamp() and not ${IS_ABANDONED}`,
    [orgId, agent],
  )
  return onlyRow(rows).count
}
