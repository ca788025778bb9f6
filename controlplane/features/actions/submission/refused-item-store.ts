import type { Query } from '../../../db/query.ts'

/**
 * Maximum number of refused batch actions that one agent may store per minute. In addition, an agent may have up to
 * 60 refused single requests per minute.
 */
const REFUSED_ITEMS_PER_MINUTE = 540

/**
 * Counts refused batch actions of an agent in the current minute. Returns null when the count is within the limit,
 * otherwise the number of seconds until the next minute.
 */
export async function takeRefusedItems(q: Query, agentId: string, items: number): Promise<number | null> {
  const { rows } = await q.query<{ isTaken: boolean; seconds: number }>(
    `with now as (select clock_timestamp() as at), taken as (
       insert into refused_items as known (agent_id, minute, items)
         select $1, date_trunc('minute', at), $2 from now
       on conflict (agent_id) do update set minute = excluded.minute,
         items = excluded.items + case when known.minute = excluded.minute then known.items else 0 end
       where known.minute <> excluded.minute or known.items + excluded.items <= $3
       returning 1)
     select exists (select from taken) as "isTaken", ceil(60 - extract(second from at))::int as seconds from now`,
    [agentId, items, REFUSED_ITEMS_PER_MINUTE],
  )
  const [row] = rows
  return row === undefined || row.isTaken ? null : Math.max(1, row.seconds)
}
