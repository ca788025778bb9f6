import type { AckBody, StatusBody } from '../../core/wire/gateway/sync.ts'
import { SYNC_CHANNEL } from '../features/kill-switch/store.ts'
import type { Query } from '../db/query.ts'

/** Said on SYNC_CHANNEL, with the id of the process behind it. */
export const WORD_PAYLOAD = 'word '

/** What a gateway process said. */
export type ProcessWord = {
  readonly process_id: string
  readonly gateway_id: string
} & (
  | { readonly kind: 'ack'; readonly body: AckBody }
  | { readonly kind: 'status'; readonly body: StatusBody }
)

/** Nobody came for it: the process is connected to no replica. */
const FORGET_S = 60

/** Leaves words, in their order, for the replicas that hold these processes. */
export async function putWords(q: Query, words: readonly ProcessWord[]): Promise<void> {
  await q.query(
    `with old as (
       delete from process_words where said_at < clock_timestamp() - make_interval(secs => ${FORGET_S})
     ), put as (
       insert into process_words (process_id, gateway_id, kind, body)
       select word->>'process_id', word->>'gateway_id', word->>'kind', word->'body'
       from json_array_elements($1::json) with ordinality as said(word, place) order by place
     )
     select pg_notify($2, $3 || id) from unnest($4::text[]) as id`,
    [JSON.stringify(words), SYNC_CHANNEL, WORD_PAYLOAD, [...new Set(words.map((word) => word.process_id))]],
  )
}

/** The words of these processes, oldest first; each is taken once. */
export async function takeWords(q: Query, processIds: readonly string[]): Promise<readonly ProcessWord[]> {
  const { rows } = await q.query<ProcessWord>(
    `with taken as (
       delete from process_words where process_id = any($1::text[]) returning id, process_id, gateway_id, kind, body
     )
     select process_id, gateway_id, kind, body from taken order by id`,
    [processIds],
  )
  return rows
}
