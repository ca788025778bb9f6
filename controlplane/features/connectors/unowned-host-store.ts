import type { ScopedQuery } from '../../db/scoped-query.ts'

/** Refused requests to one host at one gateway. */
export type UnownedHostRow = {
  /** Includes the port when the connection was refused before a request was read. */
  readonly host: string
  readonly gateway: string
  /** Agents that requested the host; null when no record has an agent. */
  readonly agents: readonly string[] | null
  readonly requests: number
  readonly first: Date
  readonly last: Date
  /** Reason of the newest refusal; null without a decision. */
  readonly why: string | null
  readonly note: string | null
}

/** Maximum number of records read per list. Agents choose the hosts, and each host leaves records. */
const MAX_RECORDS = 10_000

/** Returns refused hosts without a connector, newest first, from at most 10,000 records. */
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
