import type { Query } from '../../db/query.ts'
import type { AgentRow } from './rows.ts'

/** Prefix and hash of an API key that a caller presented. */
export type ShownKey = { readonly prefix: string; readonly sha256: Buffer }

export type KeyedAgent = Pick<AgentRow, 'id' | 'name' | 'status' | 'capabilities'> & {
  readonly apiKeySha256: Buffer
  /**
   * Number of requests admitted by the call; null when no request was counted, because the hash of the key differs or
   * the agent is not active.
   */
  readonly admitted: number | null
  /** Whole seconds until the next request is admitted, at least 1. */
  readonly retryAfterS: number | null
}

/**
 * Returns the agents that have keys with these prefixes; the caller compares the hashes. If the hash matches, counts up
 * to `wanted` requests in the agent's window of one minute, and sets the last-seen time at most once a minute. Requests
 * beyond the limit are not counted. Each key may occur only once in the list. Windows are locked in the order of agent
 * ids, which prevents deadlocks between replicas.
 */
export async function useAgentKeys(
  q: Query,
  list: ReadonlyArray<ShownKey & { readonly wanted: number }>,
  perMinute: number,
): Promise<readonly KeyedAgent[]> {
  const { rows } = await q.query<KeyedAgent>(USE, [
    list.map(({ prefix }) => prefix),
    list.map(({ sha256 }) => sha256),
    list.map(({ wanted }) => wanted),
    perMinute,
  ])
  return rows
}

/**
 * SQL expression for the requests of the last minute. If all stored requests are from the last minute, which
 * is the usual case, the stored array is used unchanged.
 */
const LIVE = `case when w.hits[1] > statement_timestamp() - interval '1 minute' then w.hits
  else array(select h from unnest(w.hits) as h where h > statement_timestamp() - interval '1 minute' order by h) end`

const USE = `with asked as (
    select * from unnest($1::text[], $2::bytea[], $3::int[]) as a(prefix, sha256, wanted)
  ), candidate as (
    select id, name, status, capabilities, api_key_sha256, wanted, last_seen_at,
      api_key_sha256 = sha256 and status = 'active' as is_known
    from asked join agents on api_key_prefix = prefix
  ), counted as (
    insert into agent_windows as w (agent_id, hits, admitted)
    select id, array_fill(statement_timestamp(), array[least(wanted, $4)]), least(wanted, $4)
    from candidate where is_known order by id
    on conflict (agent_id) do update set (hits, admitted) = (
      select live || array_fill(statement_timestamp(), array[fitting]), fitting
      from (select live, least(excluded.admitted, greatest(0, $4 - cardinality(live))) as fitting
        from (select ${LIVE} as live) as windows) as sums
    )
    returning agent_id, w.admitted, w.hits[1] + interval '1 minute' - statement_timestamp() as wait
  ), stale as (
    -- Another statement that holds the row lock sets the same time, so locked rows are skipped.
    select a.id from agents a join candidate c on c.id = a.id and c.is_known
    where c.last_seen_at is null or c.last_seen_at < now() - interval '1 minute' for update of a skip locked
  ), seen as (
    update agents a set last_seen_at = now() from stale where a.id = stale.id
  )
  select id, name, status, capabilities, api_key_sha256 as "apiKeySha256", admitted,
    greatest(1, ceil(extract(epoch from wait)))::int as "retryAfterS"
  from candidate left join counted on agent_id = id and is_known`
