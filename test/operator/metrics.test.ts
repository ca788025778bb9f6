import { expect, test } from 'vitest'
import { podCounts } from '../../operator/cluster/pods/pod-counts.ts'
import type { PodFacts } from '../../operator/cluster/pods/pod-index.ts'
import { NO_SECRETS } from '../../operator/cluster/secrets.ts'
import { createOperatorMetrics, type OperatorGauges } from '../../operator/metrics.ts'

const GAUGES: OperatorGauges = {
  staleness: () => new Map([['gateways', 3]]),
  queueDepth: () => 2,
  isLeader: () => true,
  killSwitchesBehindS: () => 1,
  pods: () => new Map(),
  certificates: () => new Map(),
  secrets: () => NO_SECRETS,
}

async function rowsOf(
  gauges: Partial<OperatorGauges>,
  use: (metrics: ReturnType<typeof createOperatorMetrics>) => void = () => undefined,
) {
  const metrics = createOperatorMetrics()
  metrics.observe({ ...GAUGES, ...gauges })
  use(metrics)
  return (await metrics.scrape()).split('\n').filter((row) => row !== '' && !row.startsWith('#'))
}

test('reviews are counted by webhook and outcome, with their duration', async () => {
  const rows = await rowsOf({}, ({ reviewed }) => {
    reviewed({ webhook: 'pods', outcome: 'refused' }, 4)
    reviewed({ webhook: 'pods', outcome: 'injected' }, 2_000)
    reviewed({ webhook: 'manifests', outcome: 'untouched' }, 1)
  })
  for (const row of [
    'svc_operator_admission_reviews_total{webhook="pods",outcome="refused"} 1',
    'svc_operator_admission_reviews_total{webhook="pods",outcome="injected"} 1',
    'svc_operator_admission_reviews_total{webhook="manifests",outcome="untouched"} 1',
    'svc_operator_admission_review_seconds_bucket{le="1",webhook="pods"} 1',
    'svc_operator_admission_review_seconds_bucket{le="2.5",webhook="pods"} 2',
  ])
    expect(rows).toContain(row)
})

test('certificates have an age and a remaining time', async () => {
  const now = Date.now()
  const validity = { notBeforeMs: now - 60_000, notAfterMs: now + 120_000 }
  const rows = await rowsOf({ certificates: () => new Map([['webhook', validity]]) })
  const value = (name: string) =>
    Number(
      rows
        .find((row) => row.startsWith(`svc_operator_certificate_${name}{certificate="webhook"}`))
        ?.split(' ')[1],
    )
  expect(value('age_seconds')).toBeCloseTo(60, 0)
  expect(value('remaining_seconds')).toBeCloseTo(120, 0)
})

const NO_PODS: PodFacts = {
  governed: 0,
  ready: 0,
  cooperative: 0,
  isolatedIn: [],
  changingUser: 0,
  unknownUser: 0,
  seccompProfiles: new Map(),
  notReady: [],
  captureFailures: [],
  sharedAgents: [],
  admittingInbound: new Set(),
}

test('pods are counted by Gateway; a Gateway that does not exist is no label, and a deleted one goes', async () => {
  const facts = { ...NO_PODS, governed: 3, notReady: ['team/a'] }
  const gateway = { metadata: { namespace: 'team', name: 'main', uid: 'u', resourceVersion: '1' } }
  const informers = (gateways: readonly object[]) =>
    ({
      caches: { Gateway: { list: () => gateways } },
      podIndex: { factsOf: () => facts },
    }) as unknown as Parameters<typeof podCounts>[0]
  const bypassing = new Map([
    ['team/main', ['team/b', 'team/c']],
    ['team/invented-1', ['team/d']],
    ['', ['team/e']],
  ])
  let gateways: readonly object[] = [gateway]
  const metrics = createOperatorMetrics()
  metrics.observe({ ...GAUGES, pods: () => podCounts(informers(gateways), bypassing) })
  const text = await metrics.scrape()
  for (const row of [
    'svc_operator_governed_pods{gateway="team/main"} 3',
    'svc_operator_sidecars_not_ready{gateway="team/main"} 1',
    'svc_operator_ungoverned_pods{gateway="team/main"} 2',
    'svc_operator_ungoverned_pods{gateway=""} 2',
  ])
    expect(text).toContain(row)
  expect(text).not.toContain('invented')
  gateways = []
  expect(await metrics.scrape()).not.toContain('gateway="team/main"')
})

test('Secrets of Connectors are counted by the reason why they cannot be read, with the age of credentials', async () => {
  const unreadable = { missing: 1, forbidden: 2, unreadable: 0 }
  const rows = await rowsOf({ secrets: () => ({ watched: 5, unreadable, ageS: new Map([['team', 60]]) }) })
  for (const row of [
    'svc_operator_secret_watches 5',
    'svc_operator_secrets_unreadable{reason="forbidden"} 2',
    'svc_operator_secrets_unreadable{reason="missing"} 1',
    'svc_operator_credential_age_seconds{namespace="team"} 60',
  ])
    expect(rows).toContain(row)
})
