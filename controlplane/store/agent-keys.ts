import type { AgentRow } from './agents.ts'
import type { Query } from './query.ts'

export type KeyedAgent = Pick<AgentRow, 'id' | 'name' | 'status' | 'capabilities' | 'apiKeySha256'> & {
  /** Null when the request was not counted: another key, or an agent that is not active. */
  readonly isAdmitted: boolean | null
  /** Whole seconds until a request is admitted again, at least 1. */
  readonly retryAfterS: number | null
}

/**
 * Agents with keys of this prefix (compare the hash of each); a request of the one whose key it is is counted in its
 * window of one minute, and it is noted as seen, at most once a minute. What is refused is not counted.
 */
export async function useAgentKey(
  q: Query,
  given: { readonly prefix: string; readonly sha256: Buffer; readonly perMinute: number },
): Promise<readonly KeyedAgent[]> {
  const { rows } = await q.query<KeyedAgent>(USE, [given.prefix, given.sha256, given.perMinute])
  return rows
}

const USE = `with candidate as (
    select id, name, status, capabilities, api_key_sha256 from agents where api_key_prefix = $1
  ), counted as (
    insert into agent_windows as w (agent_id, hits, is_admitted)
    select id, array[statement_timestamp()], true from candidate where api_key_sha256 = $2 and status = 'active'
    on conflict (agent_id) do update set
      is_admitted = cardinality(w.hits) < $3 or w.hits[1] <= statement_timestamp() - interval '1 minute',
      hits = case
        when cardinality(w.hits) < $3 then w.hits || statement_timestamp()
        when w.hits[1] <= statement_timestamp() - interval '1 minute' then w.hits[2:] || statement_timestamp()
        else w.hits end
    returning agent_id, is_admitted, hits[1] + interval '1 minute' - statement_timestamp() as wait
  ), seen as (
    update agents set last_seen_at = now() from counted where id = agent_id
      and (last_seen_at is null or last_seen_at < now() - interval '1 minute')
  )
  select id, name, status, capabilities, api_key_sha256 as "apiKeySha256", is_admitted as "isAdmitted",
    greatest(1, ceil(extract(epoch from wait)))::int as "retryAfterS"
  from candidate left join counted on agent_id = id`
