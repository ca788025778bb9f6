import type { Sealed } from '../../../crypto/sealed.ts'
import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'

export type SubscriptionRow = {
  readonly id: string
  readonly userId: string
  readonly host: string
  readonly endpointSha256: string
  readonly keys: Sealed
  readonly createdAt: Date
  readonly lastDeliveredAt: Date | null
  readonly lastFailedAt: Date | null
  readonly lastError: string | null
}

const COLUMNS = `id, user_id as "userId", host, endpoint_sha256 as "endpointSha256", keys, created_at as "createdAt",
  last_delivered_at as "lastDeliveredAt", last_failed_at as "lastFailedAt", last_error as "lastError"`

export type NewSubscription = Pick<SubscriptionRow, 'id' | 'userId' | 'host' | 'endpointSha256' | 'keys'>

/**
 * Stores a subscription. Replaces a subscription with the same endpoint, for example when another user has signed in to
 * the same browser.
 */
export async function putSubscription(
  q: Query,
  orgId: string,
  row: NewSubscription,
): Promise<SubscriptionRow> {
  await q.query('delete from push_subscriptions where endpoint_sha256 = $1', [row.endpointSha256])
  const { rows } = await q.query<SubscriptionRow>(
    `insert into push_subscriptions (id, org_id, user_id, host, endpoint_sha256, keys)
     values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
    [row.id, orgId, row.userId, row.host, row.endpointSha256, JSON.stringify(row.keys)],
  )
  return onlyRow(rows)
}

/** Lists the subscriptions of one user, or of all users, oldest first. */
export async function listSubscriptions(
  q: Query,
  orgId: string,
  userId: string | null,
): Promise<readonly SubscriptionRow[]> {
  const { rows } = await q.query<SubscriptionRow>(
    `select ${COLUMNS} from push_subscriptions where org_id = $1 and ($2::text is null or user_id = $2)
     order by created_at, id`,
    [orgId, userId],
  )
  return rows
}

export async function getSubscription(q: Query, id: string): Promise<SubscriptionRow | undefined> {
  const { rows } = await q.query<SubscriptionRow>(`select ${COLUMNS} from push_subscriptions where id = $1`, [
    id,
  ])
  return rows[0]
}

export async function deleteSubscription(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from push_subscriptions where id = $1', [id])
  return rowCount === 1
}

export async function hasSubscriptions(q: Query, orgId: string): Promise<boolean> {
  const { rows } = await q.query<{ found: boolean }>(
    'select exists(select from push_subscriptions where org_id = $1) as found',
    [orgId],
  )
  return onlyRow(rows).found
}

/** Stores the result of an attempt; `error` is null after a delivery. */
export async function recordPush(q: Query, id: string, error: string | null): Promise<void> {
  await q.query(
    `update push_subscriptions set
       last_delivered_at = case when $2::text is null then clock_timestamp() else last_delivered_at end,
       last_failed_at = case when $2::text is null then last_failed_at else clock_timestamp() end,
       last_error = coalesce($2, last_error)
     where id = $1`,
    [id, error],
  )
}

/**
 * Queues one message for each subscription if a pending approval is newer than the last message. The same statement
 * stores the time of this approval in the subscription, so that replicas queue the message once, and several new
 * approvals cause one message.
 */
export async function queuePushes(q: Query, orgId: string): Promise<void> {
  await q.query(
    `with newest as (
       select id, created_at from approvals where org_id = $1 and status = 'pending'
         and expires_at > clock_timestamp() order by created_at desc limit 1),
     marked as (
       update push_subscriptions s set announced_at = newest.created_at from newest
       where s.org_id = $1 and s.announced_at < newest.created_at returning s.id, newest.id as approval_id)
     insert into outbox (event_id, org_id, kind, order_key, receiver, event, subject_id, payload)
     select 'ntf_' || replace(gen_random_uuid()::text, '-', ''), $1, 'hold_notice',
       'web_push ' || id || ' ' || approval_id, 'web_push', 'approval.opened', approval_id,
       jsonb_build_object('subscription_id', id)
     from marked on conflict do nothing`,
    [orgId],
  )
}
