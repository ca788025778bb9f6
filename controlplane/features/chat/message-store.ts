import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

/**
 * Receiver of all messages to the chat provider. The messages have one receiver because the provider applies
 * one rate limit to them.
 */
export const CHAT_RECEIVER = 'chat'

export type ChatMessageRow = { readonly channel: string; readonly ts: string }

/** Fingerprint of a card in the chat: the hash of its nonce, and the hash of its content as the provider stores it. */
export type CardPrint = {
  /** Id of the workspace that contains the message; null when the provider did not return the id. */
  readonly team: string | null
  readonly nonceSha256: Buffer
  readonly contentSha256: Buffer
}

/**
 * Stored data of the approval card in a chat message. The nonce hash is null after an accepted answer, until the card
 * is updated.
 */
export type CardRow = {
  readonly approvalId: string
  readonly actId: string | null
  readonly agentId: string | null
  readonly team: string | null
  readonly nonceSha256: Buffer | null
  readonly contentSha256: Buffer | null
  /** True when the approval is answered, cancelled or expired. */
  readonly hasEnded: boolean
}

/**
 * Queues the chat messages that are due: the card of each new approval; an update of each card whose nonce is used
 * while the approval is still pending; the outcome of each ended approval; and the cancellation of each approval
 * whose message already shows an earlier outcome. The query reads the table of approvals, so that messages do not
 * depend on the replica or channel of an answer. Does nothing until the chat is configured. An update that failed
 * permanently is not queued again.
 */
export async function queueChatMessages(q: Query, orgId: string): Promise<void> {
  await q.query(
    `insert into outbox (event_id, org_id, kind, order_key, receiver, event, subject_id)
     select 'ntf_' || replace(gen_random_uuid()::text, '-', ''), due.org_id, due.kind, due.id, $2, due.event, due.id
     from (
       select a.id, a.org_id, a.created_at, 'chat_post' as kind, 'approval.opened' as event from approvals a
       where a.org_id = $1 and a.status = 'pending' and a.expires_at > clock_timestamp()
       union all
       select a.id, a.org_id, a.created_at, 'chat_update',
         case when a.status = 'pending' then 'approval.answered' when m.closed_at is null then 'approval.ended'
           else 'approval.cancelled' end
       from chat_messages m join approvals a on a.id = m.approval_id
       where a.org_id = $1 and m.created_at > clock_timestamp() - interval '7 days'
         and (m.closed_at is null or date_trunc('milliseconds', a.responded_at) > m.closed_at)
         and (a.status <> 'pending' or m.nonce_sha256 is null and a.expires_at > clock_timestamp())) due
     where not exists (select 1 from outbox o where o.kind = due.kind and o.subject_id = due.id
         and o.kind in ('chat_post', 'chat_update') and o.event = due.event
         and (o.event <> 'approval.answered' or o.state <> 'delivered'))
       and (select count(*) from settings where org_id = $1 and key in ('chat_bot_token', 'chat_channel_id')) = 2
     order by due.created_at, due.id
     on conflict do nothing`,
    [orgId, CHAT_RECEIVER],
  )
}

export async function insertChatMessage(
  q: Query,
  approvalId: string,
  row: ChatMessageRow & CardPrint,
): Promise<void> {
  await q.query(
    `insert into chat_messages (approval_id, channel, ts, team, nonce_sha256, content_sha256)
     values ($1, $2, $3, $4, $5, $6)
     on conflict (approval_id) do update set channel = excluded.channel, ts = excluded.ts, team = excluded.team,
       nonce_sha256 = excluded.nonce_sha256, content_sha256 = excluded.content_sha256, closed_at = null`,
    [approvalId, row.channel, row.ts, row.team, row.nonceSha256, row.contentSha256],
  )
}

/** Stores the fingerprint of a card after its message was updated. */
export async function renewChatMessage(q: Query, approvalId: string, print: CardPrint): Promise<void> {
  await q.query(
    `update chat_messages set team = coalesce($2, team), nonce_sha256 = $3, content_sha256 = $4
     where approval_id = $1`,
    [approvalId, print.team, print.nonceSha256, print.contentSha256],
  )
}

export async function getChatMessage(q: Query, approvalId: string): Promise<ChatMessageRow | undefined> {
  const { rows } = await q.query<ChatMessageRow>(
    'select channel, ts from chat_messages where approval_id = $1',
    [approvalId],
  )
  return rows[0]
}

export async function findCard(q: Query, orgId: string, place: ChatMessageRow): Promise<CardRow | undefined> {
  const { rows } = await q.query<CardRow>(
    `select m.approval_id as "approvalId", a.act_id as "actId", m.team, m.nonce_sha256 as "nonceSha256",
       m.content_sha256 as "contentSha256", (select g.id from agents g where g.org_id = a.org_id and g.name = a.agent
         and g.status <> 'revoked') as "agentId",
       a.status <> 'pending' or a.expires_at <= clock_timestamp() as "hasEnded"
     from chat_messages m join approvals a on a.id = m.approval_id
     where a.org_id = $1 and m.channel = $2 and m.ts = $3`,
    [orgId, place.channel, place.ts],
  )
  return rows[0]
}

/** Stores that the message shows the outcome of its approval. `respondedAt`: time of the outcome; null means now. */
export async function closeChatMessage(
  q: Query,
  approvalId: string,
  respondedAt: Date | null,
): Promise<void> {
  await q.query(
    'update chat_messages set closed_at = coalesce($2, clock_timestamp()) where approval_id = $1',
    [approvalId, respondedAt],
  )
}

/**
 * Admits a callback with the signature time `timestamp` (Unix seconds). The time must be within the permitted time
 * window by the clock of the database, and no replica may have received the callback before.
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
