import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'

/**
 * Key of the advisory lock of transactions that move or delete increments. The SQL function `purge_traffic` uses
 * the same key.
 */
const LOCK = 7_245_118_022

/**
 * SQL for the sums of increments. Requests with a decision that this version does not define are counted only
 * in `requests`.
 */
const sumOf = (decision: string) =>
  `coalesce(sum(requests) filter (where decision = '${decision}'), 0)::bigint`
const DECISIONS = `${sumOf('ALLOW')}, ${sumOf('HOLD')}, ${sumOf('DENY')}`
const ADDED_DECISIONS =
  'allow = kept.allow + excluded.allow, hold = kept.hold + excluded.hold, deny = kept.deny + excluded.deny'

/** Limits of one transaction. */
export type RollupLimits = {
  readonly increments: number
  /** Number of records in the increments. One increment is added even if it has more records. */
  readonly records: number
}

export type RolledUp = {
  /** Number of increments that were added to the roll-ups. */
  readonly increments: number
  /** Whether a limit ended the transaction, so that more increments may remain. */
  readonly isLimited: boolean
}

/**
 * Adds increments to the roll-ups and deletes the added increments. Must run in a transaction. Returns null when
 * another transaction holds the lock.
 */
export async function rollUp(q: Query, limits: RollupLimits): Promise<RolledUp | null> {
  const { rows: locks } = await q.query<{ isTaken: boolean }>(
    'select pg_try_advisory_xact_lock($1) as "isTaken"',
    [LOCK],
  )
  if (!onlyRow(locks).isTaken) return null
  const { rows } = await q.query<RolledUp>(
    `with candidates as (
       select place, sum(records) over (order by place) - records as earlier
       from (select ctid as place, records from traffic_increments limit $1) as first),
     taken as (
       delete from traffic_increments
       where ctid = any(array(select place from candidates where earlier < $2)) returning *),
     spread as (
       select step, date_bin(make_interval(secs => step), minute, 'epoch') as time, taken.*
       from taken cross join unnest(array[60, 900, 3600]) as step),
     counted as (
       select step, time, namespace, bucket, count(*) as records from spread cross join unnest(latencies) as bucket
       group by grouping sets ((step, time, namespace, bucket), (step, time, bucket))),
     histograms as (
       select step, time, namespace, array_agg(bucket) as buckets, array_agg(records) as counts
       from counted group by step, time, namespace),
     summed as (
       select step, time, namespace, sum(records)::bigint as records, sum(requests)::bigint as requests, ${DECISIONS},
         coalesce(sum(requests) filter (where would_block), 0)::bigint as would_block
       from spread group by grouping sets ((step, time, namespace), (step, time))),
     sums as (
       insert into traffic_rollups as kept
         (step, time, namespace, records, requests, allow, hold, deny, would_block, buckets, counts)
       select s.*, h.buckets, h.counts from summed s left join histograms h
         on h.step = s.step and h.time = s.time and h.namespace is not distinct from s.namespace
       on conflict (step, time, namespace) do update set records = kept.records + excluded.records,
         requests = kept.requests + excluded.requests, ${ADDED_DECISIONS},
         would_block = kept.would_block + excluded.would_block, (buckets, counts) = (
           select array_agg(bucket), array_agg(records) from (
             select bucket, sum(records)::bigint as records from (
               select * from unnest(kept.buckets, kept.counts)
               union all select * from unnest(excluded.buckets, excluded.counts)) as both_of (bucket, records)
             group by bucket) as merged)),
     agents as (
       insert into traffic_rollup_agents as kept (step, time, namespace, agent, requests, allow, hold, deny, last_at)
       select step, time, namespace, agent, sum(requests)::bigint, ${DECISIONS}, max(last_at)
       from spread where step > 60 and agent is not null group by step, time, namespace, agent
       on conflict (step, time, namespace, agent) do update set requests = kept.requests + excluded.requests,
         ${ADDED_DECISIONS}, last_at = greatest(kept.last_at, excluded.last_at)),
     denials as (
       insert into traffic_rollup_denials as kept
         (step, time, namespace, kind, agent, action_type, host, reason, requests, last_at)
       select step, time, namespace,
         sha256(convert_to(jsonb_build_array(agent, action_type, host, reason)::text, 'UTF8')),
         agent, action_type, host, reason, sum(requests)::bigint, max(last_at)
       from spread where step > 60 and decision = 'DENY' group by step, time, namespace, agent, action_type, host, reason
       on conflict (step, time, namespace, kind) do update set requests = kept.requests + excluded.requests,
         last_at = greatest(kept.last_at, excluded.last_at))
     select (select count(*) from taken) as increments,
       (select count(*) = $1 or count(*) > count(*) filter (where earlier < $2) from candidates) as "isLimited"`,
    [limits.increments, limits.records],
  )
  return onlyRow(rows)
}
