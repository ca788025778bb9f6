import type { ActivityReply } from '../../../../core/wire/overview.ts'

/** During a rolling upgrade, a replica of an older version sends no p99 and no latency of the whole period. */
type LatencyReply = {
  readonly buckets: ReadonlyArray<Partial<ActivityReply['buckets'][number]>>
  readonly latency?: ActivityReply['latency']
}

/** Returns one series per percentile. The label of a series contains the percentile of the whole period. */
export function latencySeries({ buckets, latency }: LatencyReply) {
  return [
    {
      label: `p50 ${inMs(latency?.p50_ms)}`,
      colour: '--chart-info',
      values: buckets.map((bucket) => bucket.latency_p50_ms ?? null),
    },
    {
      label: `p95 ${inMs(latency?.p95_ms)}`,
      colour: '--chart-quiet',
      values: buckets.map((bucket) => bucket.latency_p95_ms ?? null),
    },
    {
      label: `p99 ${inMs(latency?.p99_ms)}`,
      colour: '--chart-wait',
      values: buckets.map((bucket) => bucket.latency_p99_ms ?? null),
    },
  ]
}

function inMs(value: number | null = null): string {
  return value === null ? 'unknown' : `${Math.round(value)} ms`
}
