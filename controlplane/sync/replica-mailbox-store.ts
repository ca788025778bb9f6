import type { AckBody, StatusBody } from '../../core/wire/gateway/sync.ts'
import type { Query } from '../db/query.ts'
import { SYNC_CHANNEL } from '../db/sync-channel.ts'

/**
 * Prefix of a payload on SYNC_CHANNEL, followed by the id of a gateway process. The payload notifies the
 * replica that holds the stream of this process that a message was published.
 */
export const MAILBOX_PAYLOAD = 'mailbox '

/** A message that a gateway process sent to any replica. */
export type ProcessMessage = {
  readonly process_id: string
  readonly gateway_id: string
} & (
  | { readonly kind: 'ack'; readonly body: AckBody }
  | { readonly kind: 'status'; readonly body: StatusBody }
)

/**
 * Seconds after which messages are deleted. Messages of this age have not been delivered, because their process is
 * not connected to any replica.
 */
const EXPIRE_S = 60

/** Stores messages in order. Each message is for the replica that holds the stream of its process. */
export async function publishMessages(q: Query, messages: readonly ProcessMessage[]): Promise<void> {
  await q.query(
    `with old as (
       delete from replica_mailbox where published_at < clock_timestamp() - make_interval(secs => ${EXPIRE_S})
     ), put as (
       insert into replica_mailbox (process_id, gateway_id, kind, body)
       select message->>'process_id', message->>'gateway_id', message->>'kind', message->'body'
       from json_array_elements($1::json) with ordinality as said(message, place) order by place
     )
     select pg_notify($2, $3 || id) from unnest($4::text[]) as id`,
    [
      JSON.stringify(messages),
      SYNC_CHANNEL,
      MAILBOX_PAYLOAD,
      [...new Set(messages.map((message) => message.process_id))],
    ],
  )
}

/** Removes and returns the messages of these processes, oldest first. */
export async function receiveMessages(
  q: Query,
  processIds: readonly string[],
): Promise<readonly ProcessMessage[]> {
  const { rows } = await q.query<ProcessMessage>(
    `with taken as (
       delete from replica_mailbox where process_id = any($1::text[]) returning id, process_id, gateway_id, kind, body
     )
     select process_id, gateway_id, kind, body from taken order by id`,
    [processIds],
  )
  return rows
}
