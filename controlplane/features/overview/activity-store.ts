import type { ScopedQuery, Within } from '../../db/scoped-query.ts'
import { HAS_ENDED } from '../agents/rows.ts'

/** A period that is divided into buckets of equal length. The times are in ISO 8601. */
export type Span = { readonly from: string; readonly to: string; readonly bucketSeconds: number }

export type BucketRow = {
  readonly time: Date
  readonly allow: number
  readonly hold: number
  readonly deny: number
  readonly wouldBlock: number
  readonly p50: number | null
  readonly p95: number | null
}
export type DenialRow = {
  readonly agent: string | null
  readonly actionType: string | null
  readonly host: string | null
  readonly reason: string | null
  readonly count: number
  readonly lastAt: Date
}
export type AgentActivityRow = {
  readonly agent: string
  readonly allow: number
  readonly hold: number
  readonly deny: number
  readonly lastAt: Date
}

/** Counts requests instead of rows, because one aggregate record stands for many refusals. */
const sumOf = (condition: string) => `coalesce(sum(requests) filter (where ${condition}), 0)::bigint`
const COUNTS = `${sumOf("decision = 'ALLOW'")} as allow, ${sumOf("decision = 'HOLD'")} as hold,
  ${sumOf("decision = 'DENY'")} as deny`
const requestsIn = (within: Within) =>
  `org_id = $1 and time >= $2::timestamptz and time < $3::timestamptz and ${within.nameOr('agent', 'gateway')}`

/** Counts requests per bucket of the period, oldest bucket first. Buckets without requests are included. */
export async function countByTime(q: ScopedQuery, orgId: string, span: Span): Promise<readonly BucketRow[]> {
  return q.rows<BucketRow>(
    [orgId, span.from, span.to, span.bucketSeconds],
    (within) => `with counted as (
       select date_bin(make_interval(secs => $4), time, $2::timestamptz) as bucket, ${COUNTS},
         ${sumOf("would is not null and decision = 'ALLOW'")} as "wouldBlock",
         percentile_cont(0.5) within group (order by latency_ms) as p50,
         percentile_cont(0.95) within group (order by latency_ms) as p95
       from traffic where ${requestsIn(within)} group by 1)
     select s as time, coalesce(allow, 0) as allow, coalesce(hold, 0) as hold, coalesce(deny, 0) as deny,
       coalesce("wouldBlock", 0) as "wouldBlock", p50, p95
     from generate_series($2::timestamptz, $3::timestamptz - interval '1 millisecond', make_interval(secs => $4)) s
     left join counted on bucket = s order by s`,
  )
}

export async function topDenials(
  q: ScopedQuery,
  orgId: string,
  { from, to, limit }: Pick<Span, 'from' | 'to'> & { readonly limit: number },
): Promise<readonly DenialRow[]> {
  return q.rows<DenialRow>(
    [orgId, from, to, limit],
    (
      within,
    ) => `select agent, action_type as "actionType", case when action_type is null then host end as host, reason,
       sum(requests)::bigint as count, max(time) as "lastAt"
     from traffic where ${requestsIn(within)} and decision = 'DENY' group by 1, 2, 3, 4
     order by count desc, max(time) desc limit $4`,
  )
}

export async function busiestAgents(
  q: ScopedQuery,
  orgId: string,
  { from, to, limit }: Pick<Span, 'from' | 'to'> & { readonly limit: number },
): Promise<readonly AgentActivityRow[]> {
  return q.rows<AgentActivityRow>(
    [orgId, from, to, limit],
    (within) => `select agent, ${COUNTS}, max(time) as "lastAt" from traffic
     where ${requestsIn(within)} and agent is not null
     group by agent order by sum(requests) desc, agent limit $4`,
  )
}

/**
 * Returns whether the traffic log has a record. For a user with a right in some namespaces only, returns whether an
 * agent of these namespaces ever sent a request; this check needs no search of the traffic log.
 */
export async function hasTraffic(q: ScopedQuery, orgId: string): Promise<boolean> {
  const [row] = await q.rows<{ found: boolean }>([orgId], (within) =>
    q.namespaces === 'all'
      ? `select exists(select 1 from traffic where org_id = $1 and ${within.nameOr('agent', 'gateway')}) as found`
      : `select exists(select 1 from agents where org_id = $1 and last_seen_at is not null and ${within.name('name')}) as found`,
  )
  return row?.found === true
}

export type Inventory = {
  readonly active: number
  readonly suspended: number
  readonly connectors: number
  readonly pending: number
}

export async function inventory(q: ScopedQuery, orgId: string): Promise<Inventory> {
  const [row] = await q.rows<Inventory>([orgId], (within) => {
    const agents = `from agents where org_id = $1 and ${within.name('name')}`
    return `select (select count(*)::int ${agents} and status = 'active' and not (${HAS_ENDED})) as active,
       (select count(*)::int ${agents} and status = 'suspended') as suspended,
       (select count(*)::int from connectors where org_id = $1 and ${within.configuration('connectors')}) as connectors,
       (select count(*)::int from approvals where org_id = $1 and status = 'pending'
          and expires_at > clock_timestamp() and ${within.name('agent')}) as pending`
  })
  return row ?? { active: 0, suspended: 0, connectors: 0, pending: 0 }
}
