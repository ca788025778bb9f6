import { expect, test } from 'vitest'
import { latencySeries } from '../../controlplane/dashboard/pages/overview/latency-series.ts'

const BUCKET = { latency_p50_ms: 10, latency_p95_ms: 27 }

test('a reply has one series per percentile, with the percentile of the whole period in its label', () => {
  const series = latencySeries({
    buckets: [{ ...BUCKET, latency_p99_ms: 29.4 }],
    latency: { p50_ms: 10.4, p95_ms: 27, p99_ms: null },
  })
  expect(series).toMatchObject([
    { label: 'p50 10 ms', values: [10] },
    { label: 'p95 27 ms', values: [27] },
    { label: 'p99 unknown', values: [29.4] },
  ])
})

test('the reply of an older replica, without p99 and without latency of the period, is shown', () => {
  expect(latencySeries({ buckets: [BUCKET] })).toMatchObject([
    { label: 'p50 unknown', values: [10] },
    { label: 'p95 unknown', values: [27] },
    { label: 'p99 unknown', values: [null] },
  ])
})
