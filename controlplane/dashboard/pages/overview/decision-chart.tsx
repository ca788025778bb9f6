import { useMemo } from 'react'
import type { ActivityReply } from '../../../../core/wire/overview.ts'
import { TimeChart } from '../../components/chart/time-chart.tsx'

export function DecisionChart({ activity }: { readonly activity: ActivityReply }) {
  const { times, series, summary } = useMemo(() => chartOf(activity), [activity])
  return <TimeChart times={times} series={series} summary={summary} isStacked />
}

function chartOf({ buckets }: ActivityReply) {
  const values = (key: 'allow' | 'hold' | 'deny') => buckets.map((bucket) => bucket[key])
  const sum = (key: 'allow' | 'hold' | 'deny') => values(key).reduce((all, one) => all + one, 0)
  return {
    times: buckets.map(({ time }) => Date.parse(time) / 1_000),
    series: [
      { label: 'Allowed', colour: '--chart-good', values: values('allow') },
      { label: 'Held', colour: '--chart-wait', values: values('hold') },
      { label: 'Denied', colour: '--chart-bad', values: values('deny') },
    ],
    summary: `${sum('allow')} allowed, ${sum('hold')} held, ${sum('deny')} denied in this period.`,
  }
}
