import { useMemo } from 'react'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { TimeChart } from '../../components/chart/time-chart.tsx'
import { latencySeries } from './latency-series.ts'

export function LatencyChart({ activity }: { readonly activity: ActivityReply }) {
  const { times, series, summary } = useMemo(() => chartOf(activity), [activity])
  return <TimeChart times={times} series={series} summary={summary} unit="ms" />
}

function chartOf(activity: ActivityReply) {
  const series = latencySeries(activity)
  return {
    times: activity.buckets.map(({ time }) => Date.parse(time) / 1_000),
    series,
    summary: `Latency including the upstream, without requests that waited for an approval: ${series.map(({ label }) => label).join(', ')}.`,
  }
}
