import type { ScopedQuery } from '../../db/scoped-query.ts'
import { HAS_ENDED } from '../agents/rows.ts'
import { type Period, type Summed, sums, valuesOfBuckets, valuesOfPeriod } from './activity-source-store.ts'

/** A period that is divided into parts of equal length (buckets). The times are in ISO 8601. */
export type Span = Period & { readonly bucketSeconds: number }

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
  /** Latency percentiles over the whole period, accurate to 2 percent; null when there were no requests. */
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

/** Counts requests instead of rows, because one aggregate record stands for many refusals. */
const requestsIf = (condition: string) => `case when ${condition} then requests else 0 end`
const DECISIONS = ['ALLOW', 'HOLD', 'DENY'].map((name) => requestsIf(`decision = '${name}'`)).join(', ')
const COUNTS = 'sum(allow)::bigint as allow, sum(hold)::bigint as hold, sum(deny)::bigint as deny'

const BY_TIME: Summed = {
  table: 'traffic_rollups',
  hasAll: true,
  rolledUp: 'time, allow, hold, deny, would_block',
  incremented: `minute, ${DECISIONS}, ${requestsIf('would_block')}`,
  recorded: `time, ${DECISIONS}, ${requestsIf("would is not null and decision = 'ALLOW'")}`,
}

/** Latencies of the requests that did not wait for an approval. */
const LATENCIES: Summed = {
  table: 'traffic_rollups',
  hasAll: true,
  rolledUp: 'time, unnest(buckets), unnest(counts)',
  incremented: 'minute, unnest(latencies), 1',
  recorded: 'time, latency_bucket(latency_ms), 1',
  isCounted: { incremented: 'true', recorded: 'approval_id is null' },
}

/**
 * SQL of the percentiles in ms. The value of a percentile is the geometric mean of the bounds of its latency
 * bucket (SQL function `latency_bucket`).
 */
const PERCENTILES = [50, 95, 99]
  .map(
    (percent) =>
      `power(1.04::float8, min(bucket) filter (where below >= ${percent / 100} * total) + 0.5) as p${percent}`,
  )
  .join(', ')

/**
 * Counts requests per bucket of the period. The query also returns one row without a time, which contains the latency
 * of the whole period.
 */
export async function countByTime(q: ScopedQuery, orgId: string, span: Span): Promise<ActivityCounts> {
  const rows = await q.rows<Omit<BucketRow, 'time'> & { readonly time: Date | null }>(
    [...valuesOfBuckets(orgId, span, span.bucketSeconds), span.bucketSeconds],
    (within) => `with counted as (
       select ${BUCKET} as bucket_at, ${COUNTS}, sum(would_block)::bigint as "wouldBlock"
       from ${sums(q, within, BY_TIME)} as sums (time, allow, hold, deny, would_block) group by 1),
     latencies as (
       select ${BUCKET} as bucket_at, bucket, sum(records) as records
       from ${sums(q, within, LATENCIES)} as sums (time, bucket, records)
       group by grouping sets ((1, 2), (2))),
     ranked as (
       select bucket_at, bucket, sum(records) over (partition by bucket_at order by bucket) as below,
         sum(records) over (partition by bucket_at) as total
       from latencies),
     percentiles as (select bucket_at, ${PERCENTILES} from ranked group by bucket_at)
     select s as time, coalesce(allow, 0) as allow, coalesce(hold, 0) as hold, coalesce(deny, 0) as deny,
       coalesce("wouldBlock", 0) as "wouldBlock", p50, p95, p99
     from (
       select generate_series($2::timestamptz, $3::timestamptz - interval '1 millisecond', make_interval(secs => $7)) s
       union all select null) times
     left join counted on counted.bucket_at = s
     left join percentiles on percentiles.bucket_at is not distinct from s order by s`,
  )
  const { p50 = null, p95 = null, p99 = null } = rows.find(({ time }) => time === null) ?? {}
  const buckets = rows.flatMap(({ time, ...row }) => (time === null ? [] : [{ time, ...row }]))
  return { buckets, latency: { p50, p95, p99 } }
}

const BUCKET = 'date_bin(make_interval(secs => $7), time, $2::timestamptz)'

const DENIALS: Summed = {
  table: 'traffic_rollup_denials',
  rolledUp: 'agent, action_type, host, reason, requests, last_at',
  incremented: 'agent, action_type, host, reason, requests, last_at',
  recorded: 'agent, action_type, case when action_type is null then host end, reason, requests, time',
  isCounted: { incremented: "decision = 'DENY'", recorded: "decision = 'DENY'" },
}

/**
 * Returns the most frequent denials, grouped by agent; the agent with the most denials comes first. Returns at most
 * `limit` rows, and at most `limitOfAgent` rows of one agent, so that an agent that repeats refused requests does not
 * hide other agents.
 */
export async function topDenials(
  q: ScopedQuery,
  orgId: string,
  span: Period & { readonly limit: number; readonly limitOfAgent: number },
): Promise<readonly DenialRow[]> {
  return q.rows<DenialRow>(
    [...valuesOfPeriod(orgId, span), span.limit, span.limitOfAgent],
    (within) => `with kinds as (
       select agent, "actionType", host, reason, sum(requests)::bigint as count, max(last_at) as "lastAt"
       from ${sums(q, within, DENIALS)} as sums (agent, "actionType", host, reason, requests, last_at)
       group by 1, 2, 3, 4),
     ranked as (
       select *, (sum(count) over (partition by agent))::bigint as "agentCount",
         row_number() over (partition by agent order by count desc, "lastAt" desc) as place
       from kinds)
     select agent, "actionType", host, reason, count, "lastAt", "agentCount" from ranked where place <= $8
     order by "agentCount" desc, agent, place limit $7`,
  )
}

const BY_AGENT: Summed = {
  table: 'traffic_rollup_agents',
  rolledUp: 'agent, requests, allow, hold, deny, last_at',
  incremented: `agent, requests, ${DECISIONS}, last_at`,
  recorded: `agent, requests, ${DECISIONS}, time`,
  isCounted: { incremented: 'agent is not null', recorded: 'agent is not null' },
}

export async function busiestAgents(
  q: ScopedQuery,
  orgId: string,
  span: Period & { readonly limit: number },
): Promise<readonly AgentActivityRow[]> {
  return q.rows<AgentActivityRow>(
    [...valuesOfPeriod(orgId, span), span.limit],
    (within) => `select agent, ${COUNTS}, max(last_at) as "lastAt"
     from ${sums(q, within, BY_AGENT)} as sums (agent, requests, allow, hold, deny, last_at)
     group by agent order by sum(requests) desc, agent limit $7`,
  )
}

/**
 * Returns whether the traffic log has a record. For a user whose right is limited to some namespaces, returns
 * whether an agent of these namespaces ever sent a request; this check needs no search of the traffic log.
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
