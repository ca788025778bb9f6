import type { Query } from './query.ts'
import { onlyRow } from './rows.ts'

/** Everything to the chat provider shares one lane: it limits its callers as one. */
export const CHAT_LANE = 'chat'

export type ChatMessageRow = { readonly channel: string; readonly ts: string }

/**
 * Queues what the chat has to be told: approvals that opened, and outcomes of those it shows. Looks at the approvals
 * themselves, so that nothing depends on who opened or answered them and where. Does nothing until chat is set up.
 */
export async function queueChatMessages(q: Query, orgId: string): Promise<void> {
  await q.query(
    `insert into outbox (event_id, org_id, kind, order_key, lane, event, subject_id)
     select 'ntf_' || replace(gen_random_uuid()::text, '-', ''), due.org_id, due.kind, due.id, $2, due.event, due.id
     from (
       select a.id, a.org_id, 'chat_post' as kind, 'approval.opened' as event from approvals a
       where a.org_id = $1 and a.status = 'pending' and a.expires_at > clock_timestamp()
       union all
       select a.id, a.org_id, 'chat_update', 'approval.ended' from chat_messages m join approvals a on a.id = m.approval_id
       where a.org_id = $1 and a.status <> 'pending' and m.closed_at is null
         and m.created_at > clock_timestamp() - interval '7 days') due
     where not exists (select 1 from outbox o where o.kind = due.kind and o.subject_id = due.id
         and o.kind in ('chat_post', 'chat_update'))
       and (select count(*) from settings where org_id = $1 and key in ('chat_bot_token', 'chat_channel_id')) = 2
     on conflict do nothing`,
    [orgId, CHAT_LANE],
  )
}

export async function insertChatMessage(q: Query, approvalId: string, row: ChatMessageRow): Promise<void> {
  await q.query(
    `insert into chat_messages (approval_id, channel, ts) values ($1, $2, $3)
     on conflict (approval_id) do update set channel = excluded.channel, ts = excluded.ts, closed_at = null`,
    [approvalId, row.channel, row.ts],
  )
}

export async function getChatMessage(q: Query, approvalId: string): Promise<ChatMessageRow | undefined> {
  const { rows } = await q.query<ChatMessageRow>(
    'select channel, ts from chat_messages where approval_id = $1',
    [approvalId],
  )
  return rows[0]
}

export async function closeChatMessage(q: Query, approvalId: string): Promise<void> {
  await q.query('update chat_messages set closed_at = clock_timestamp() where approval_id = $1', [approvalId])
}

/**
 * Whether a callback that was signed at `timestamp` (seconds) may be looked at: within the window by the database's
 * clock, and never seen before on any replica.
 */
export async function admitCallback(
  q: Query,
  callback: { readonly digest: Buffer; readonly timestamp: number; readonly windowS: number },
): Promise<'fresh' | 'late' | 'replayed'> {
  const { rows } = await q.query<{ isFresh: boolean; isNew: boolean }>(
    `with time as (select abs(extract(epoch from clock_timestamp()) - $2::float8) <= $3::float8 as ok),
     seen as (insert into chat_callbacks (digest) select $1 from time where ok on conflict do nothing returning 1)
     select ok as "isFresh", exists (select 1 from seen) as "isNew" from time`,
    [callback.digest, callback.timestamp, callback.windowS],
  )
  const { isFresh, isNew } = onlyRow(rows)
  if (!isFresh) return 'late'
  return isNew ? 'fresh' : 'replayed'
}
