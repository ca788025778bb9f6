import type { ScopedQuery, Within } from '../../db/scoped-query.ts'
import { HAS_ENDED } from '../agents/rows.ts'

/** A period that is divided into parts of equal length (buckets). The times are in ISO 8601. */
export type Span = { readonly from: string; readonly to: string; readonly bucketSeconds: number }

export type BucketRow = {
  readonly time: Date
  readonly allow: number
  readonly hold: number
  readonly deny: number
  readonly wouldBlock: number
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}
export type ActivityCounts = {
  /** Counts of each bucket of the period, oldest first. Buckets without requests are included. */
  readonly buckets: readonly BucketRow[]
  /** Latency percentiles over the whole period; null when there were no requests. */
  readonly latency: Pick<BucketRow, 'p50' | 'p95' | 'p99'>
}
export type DenialRow = {
  readonly agent: string | null
  readonly actionType: string | null
  readonly host: string | null
  readonly reason: string | null
  readonly count: number
  readonly lastAt: Date
  /** Number of all denials of the agent, including those that the result omits. */
  readonly agentCount: number
}
export type AgentActivityRow = {
  readonly agent: string
  readonly allow: number
  readonly hold: number
  readonly deny: number
  readonly lastAt: Date
}

/**
 * Returns the SQL expression that counts the requests of matching rows. The expression does not count rows, because
 * one aggregate record stands for many refusals.
 */
const sumOf = (condition: string) => `coalesce(sum(requests) filter (where ${condition}), 0)::bigint`
const COUNTS = `${sumOf("decision = 'ALLOW'")} as allow, ${sumOf("decision = 'HOLD'")} as hold,
  ${sumOf("decision = 'DENY'")} as deny`
/** Percentiles of the latency. Requests that waited for an approval are not included. */
const LATENCIES = [50, 95, 99]
  .map(
    (percent) =>
      `percentile_cont(${percent / 100}) within group (order by latency_ms) filter (where approval_id is null) as p${percent}`,
  )
  .join(', ')
const requestsIn = (within: Within) =>
  `org_id = $1 and time >= $2::timestamptz and time < $3::timestamptz and ${within.nameOr('agent', 'gateway')}`

/**
 * Counts requests per bucket of the period. The query also returns one row without a time, which contains the latency
 * of the whole period.
 */
export async function countByTime(q: ScopedQuery, orgId: string, span: Span): Promise<ActivityCounts> {
  const rows = await q.rows<Omit<BucketRow, 'time'> & { readonly time: Date | null }>(
    [orgId, span.from, span.to, span.bucketSeconds],
    (within) => `with counted as (
       select date_bin(make_interval(secs => $4), time, $2::timestamptz) as bucket, ${COUNTS},
         ${sumOf("would is not null and decision = 'ALLOW'")} as "wouldBlock",
         ${LATENCIES}
       from traffic where ${requestsIn(within)} group by rollup (bucket))
     select s as time, coalesce(allow, 0) as allow, coalesce(hold, 0) as hold, coalesce(deny, 0) as deny,
       coalesce("wouldBlock", 0) as "wouldBlock", p50, p95, p99
     from (
       select generate_series($2::timestamptz, $3::timestamptz - interval '1 millisecond', make_interval(secs => $4)) s
       union all select null) times
     left join counted on bucket is not distinct from s order by s`,
  )
  const { p50 = null, p95 = null, p99 = null } = rows.find(({ time }) => time === null) ?? {}
  const buckets = rows.flatMap(({ time, ...row }) => (time === null ? [] : [{ time, ...row }]))
  return { buckets, latency: { p50, p95, p99 } }
}

/**
 * Returns the most frequent denials, grouped by agent; the agent with the most denials comes first. Returns at most
 * `limit` rows, and at most `limitOfAgent` rows of one agent, so that an agent that repeats refused requests does not
 * hide other agents.
 */
export async function topDenials(
  q: ScopedQuery,
  orgId: string,
  span: Pick<Span, 'from' | 'to'> & { readonly limit: number; readonly limitOfAgent: number },
): Promise<readonly DenialRow[]> {
  return q.rows<DenialRow>(
    [orgId, span.from, span.to, span.limit, span.limitOfAgent],
    (within) => `with kinds as (
       select agent, action_type as "actionType", case when action_type is null then host end as host, reason,
         sum(requests)::bigint as count, max(time) as "lastAt"
       from traffic where ${requestsIn(within)} and decision = 'DENY' group by 1, 2, 3, 4),
     ranked as (
       select *, (sum(count) over (partition by agent))::bigint as "agentCount",
         row_number() over (partition by agent order by count desc, "lastAt" desc) as place
       from kinds)
     select agent, "actionType", host, reason, count, "lastAt", "agentCount" from ranked where place <= $5
     order by "agentCount" desc, agent, place limit $4`,
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
