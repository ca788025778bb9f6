import { useMemo } from 'react'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { TimeChart } from '../../components/chart/time-chart.tsx'

export function LatencyChart({ activity }: { readonly activity: ActivityReply }) {
  const { times, series, summary } = useMemo(() => chartOf(activity), [activity])
  return <TimeChart times={times} series={series} summary={summary} unit="ms" />
}

function chartOf({ buckets }: ActivityReply) {
  const median = buckets.map((bucket) => bucket.latency_p50_ms)
  const slow = buckets.map((bucket) => bucket.latency_p95_ms)
  const worst = Math.max(0, ...slow.map((value) => value ?? 0))
  return {
    times: buckets.map(({ time }) => Date.parse(time) / 1_000),
    series: [
      { label: 'Median', colour: '--chart-info', values: median },
      { label: '95th percentile', colour: '--chart-quiet', values: slow },
    ],
    summary: `Latency including the upstream. Highest 95th percentile: ${Math.round(worst)} ms.`,
  }
}
