import type { ChannelName } from '../../../../core/wire/notifications/notification-channels.ts'
import type { Sealed } from '../../../crypto/sealed.ts'
import type { Query } from '../../../db/query.ts'

export type ChannelRow = {
  readonly name: ChannelName
  readonly config: Sealed | null
  readonly lastDeliveredAt: Date | null
  readonly lastFailedAt: Date | null
  readonly lastError: string | null
}

const COLUMNS = `name, config, last_delivered_at as "lastDeliveredAt", last_failed_at as "lastFailedAt",
  last_error as "lastError"`

export async function listChannels(q: Query, orgId: string): Promise<readonly ChannelRow[]> {
  const { rows } = await q.query<ChannelRow>(
    `select ${COLUMNS} from notification_channels where org_id = $1 order by name`,
    [orgId],
  )
  return rows
}

/** Stores the configuration of a channel, and deletes the results of deliveries with the earlier configuration. */
export async function putChannel(q: Query, orgId: string, name: ChannelName, config: Sealed): Promise<void> {
  await q.query(
    `insert into notification_channels (org_id, name, config) values ($1, $2, $3)
     on conflict (org_id, name) do update set config = excluded.config, configured_at = clock_timestamp(),
       last_delivered_at = null, last_failed_at = null, last_error = null`,
    [orgId, name, JSON.stringify(config)],
  )
}

export async function deleteChannel(q: Query, orgId: string, name: ChannelName): Promise<void> {
  await q.query('delete from notification_channels where org_id = $1 and name = $2', [orgId, name])
}

/** Stores the result of an attempt; `error` is null after a delivery. */
export async function recordAttempt(
  q: Query,
  orgId: string,
  { name, error }: { readonly name: ChannelName; readonly error: string | null },
): Promise<void> {
  await q.query(
    `insert into notification_channels as c (org_id, name, last_delivered_at, last_failed_at, last_error)
     values ($1, $2, case when $3::text is null then clock_timestamp() end,
       case when $3::text is not null then clock_timestamp() end, $3)
     on conflict (org_id, name) do update set
       last_delivered_at = coalesce(excluded.last_delivered_at, c.last_delivered_at),
       last_failed_at = coalesce(excluded.last_failed_at, c.last_failed_at),
       last_error = coalesce(excluded.last_error, c.last_error)`,
    [orgId, name, error],
  )
}

/**
 * Queues the notices that are due, for each configured channel: a notice of each pending approval and, for the
 * webhook only, of the end of each approval. The query reads the table of approvals, so that notices do not depend on
 * the replica that opened or answered an approval.
 */
export async function queueNotices(q: Query, orgId: string): Promise<void> {
  await q.query(
    `insert into outbox (event_id, org_id, kind, order_key, receiver, event, subject_id)
     select 'ntf_' || replace(gen_random_uuid()::text, '-', ''), $1, 'hold_notice', due.name || ' ' || due.id,
       due.name, due.event, due.id
     from (
       select c.name, a.id, a.created_at, 'approval.opened' as event
       from notification_channels c join approvals a on a.org_id = c.org_id
       where c.org_id = $1 and c.config is not null and c.name in ('email', 'webhook', 'chat_webhook')
         and a.status = 'pending' and a.expires_at > clock_timestamp() and a.created_at >= c.configured_at
       union all
       select o.receiver, a.id, a.created_at, 'approval.ended'
       from outbox o join approvals a on a.id = o.subject_id
       where o.org_id = $1 and o.kind = 'hold_notice' and o.receiver = 'webhook' and o.event = 'approval.opened'
         and o.created_at > clock_timestamp() - interval '1 day' and a.status <> 'pending') due
     where not exists (select 1 from outbox o where o.kind = 'hold_notice'
       and o.order_key = due.name || ' ' || due.id and o.event = due.event)
     order by due.created_at, due.id
     on conflict do nothing`,
    [orgId],
  )
}
