import type { ScopedQuery } from '../../db/scoped-query.ts'

/** Refused requests of one gateway to a host that no connector governs. */
export type UnownedHostRow = {
  /** Host of the requests, with the port when the connection was refused before a request was read. */
  readonly host: string
  readonly gateway: string
  /** Agents that sent the requests; null when no record names an agent. */
  readonly agents: readonly string[] | null
  readonly requests: number
  readonly first: Date
  readonly last: Date
  /** Reason of the newest refusal; null when no record has a decision. */
  readonly why: string | null
  readonly note: string | null
}

/**
 * Maximum number of records that one list reads. The limit is necessary because agents choose the hosts, and each host
 * creates records.
 */
const MAX_RECORDS = 10_000

/** Returns the hosts of refused requests without a connector, newest first. Reads at most 10,000 records. */
export async function listUnownedHosts(q: ScopedQuery, orgId: string): Promise<readonly UnownedHostRow[]> {
  return q.rows<UnownedHostRow>(
    [orgId, MAX_RECORDS],
    (within) =>
      `select host, gateway, array_agg(distinct agent order by agent) filter (where agent is not null) as agents,
         sum(requests)::float8 as requests, min(time) as first, max(time) as last,
         (array_agg(why->>'reason' order by time desc) filter (where why is not null))[1] as why,
         (array_agg(note order by time desc) filter (where refusals is null))[1] as note
       from (select host, gateway, agent, requests, time, why, note, refusals from traffic
         where org_id = $1 and reason = 'unknown_host' and decision = 'DENY' and host is not null
           and ${within.nameOr('agent', 'gateway')}
         order by time desc limit $2) as refused
       group by host, gateway order by last desc`,
  )
}
