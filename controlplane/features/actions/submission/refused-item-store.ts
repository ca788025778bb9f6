import type { Query } from '../../../db/query.ts'

/**
 * Maximum number of refused batch actions that one agent may store per minute. In addition, an agent may have up to
 * 60 refused single requests per minute.
 */
const REFUSED_ITEMS_PER_MINUTE = 540

/** The refused actions of one batch. `targets` are distinct. */
export type RefusedItems = {
  readonly agentId: string
  readonly items: number
  readonly targets: readonly string[]
}

/**
 * Counts refused batch actions of an agent in the current minute. Returns null when the count is within the limit.
 * Otherwise counts the actions in the tally of the minute, and returns the number of seconds until the next minute.
 */
export async function takeRefusedItems(
  q: Query,
  { agentId, items, targets }: RefusedItems,
): Promise<number | null> {
  const { rows } = await q.query<{ isTaken: boolean; seconds: number }>(
    `with now as (select clock_timestamp() as at), taken as (
       insert into refused_items as known (agent_id, minute, items)
         select $1, date_trunc('minute', at), $2 from now
       on conflict (agent_id) do update set minute = excluded.minute,
         items = excluded.items + case when known.minute = excluded.minute then known.items else 0 end
       where known.minute <> excluded.minute or known.items + excluded.items <= $3
       returning 1), counted as (
       insert into refused_item_tallies as known (agent_id, minute, items, first_at, last_at, targets)
         select $1, date_trunc('minute', at), $2, at, at, $4::text[] from now where not exists (select from taken)
       on conflict (agent_id, minute) do update set items = known.items + excluded.items,
         first_at = least(known.first_at, excluded.first_at), last_at = greatest(known.last_at, excluded.last_at),
         targets = known.targets
           || array(select target from unnest(excluded.targets) as target where target <> all (known.targets)))
     select exists (select from taken) as "isTaken", ceil(60 - extract(second from at))::int as seconds from now`,
    [agentId, items, REFUSED_ITEMS_PER_MINUTE, targets],
  )
  const [row] = rows
  return row === undefined || row.isTaken ? null : Math.max(1, row.seconds)
}

export type RefusedItemTally = RefusedItems & { readonly firstAt: Date; readonly lastAt: Date }

/** Removes and returns the tallies of ended minutes, oldest first. */
export async function takeRefusedItemTallies(q: Query): Promise<readonly RefusedItemTally[]> {
  const { rows } = await q.query<RefusedItemTally>(
    // Statements that began in the minute may still be running for some seconds.
    `with ended as (
       delete from refused_item_tallies
         where minute < date_trunc('minute', clock_timestamp() - interval '5 seconds') returning *)
     select agent_id as "agentId", items, first_at as "firstAt", last_at as "lastAt", targets
       from ended order by minute, agent_id`,
    [],
  )
  return rows
}
