import { exposition } from '../../controlplane/features/maintenance/metrics-exposition.ts'
import { NO_SECRETS } from '../../operator/cluster/secrets.ts'
import { createOperatorMetrics } from '../../operator/metrics.ts'
import { createMetrics } from '../../sidecar/metrics.ts'
import { IDLE_GAUGES } from './idle-gauges.ts'

export type MetricFamily = { readonly name: string; readonly type: string; readonly help: string }

/** The metrics that each component serves while it has no traffic. */
export type MetricFamilies = {
  readonly gateway: readonly MetricFamily[]
  /** Metrics of `GET /internal/metrics` of a gateway. Prometheus does not read this address in a cluster. */
  readonly internal: readonly MetricFamily[]
  readonly controlPlane: readonly MetricFamily[]
  readonly operator: readonly MetricFamily[]
}

export async function metricFamilies(): Promise<MetricFamilies> {
  const gateway = createMetrics()
  const operator = createOperatorMetrics()
  operator.observe({
    staleness: () => new Map(),
    queueDepth: () => 0,
    isLeader: () => false,
    killSwitchesBehindS: () => 0,
    pods: () => new Map(),
    certificates: () => new Map(),
    secrets: () => NO_SECRETS,
  })
  const controlPlane = await exposition({
    counts: { total: 0, lastHour: 0, decisions24h: { allow: 0, deny: 0, requires_approval: 0 } },
    invalid: { platform: 0, tenant: 0 },
    version: 0,
    processes: [],
    kills: 0,
    certificate: null,
    refusedBatches: new Map(),
    channels: [],
    minted: [],
    narrowedTokens: new Map(),
    destinations: [],
  })
  return {
    gateway: familiesOf(gateway.scrape(IDLE_GAUGES)),
    internal: familiesOf(gateway.internal(IDLE_GAUGES)),
    controlPlane: familiesOf(controlPlane),
    operator: familiesOf(await operator.scrape()),
  }
}

function familiesOf(text: string): MetricFamily[] {
  const families = [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(
    ([, name = '', help = '', type = '']) => ({ name, type, help: help.replace(/\.$/, '') }),
  )
  return families.sort((a, b) => (a.name < b.name ? -1 : 1))
}
