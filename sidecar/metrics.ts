import type { OwnRecord } from '../core/record.ts'
import type { KillEntry } from '../core/wire/gateway/kill.ts'
import { type CaptureGauges, writeCapture } from './admin/metrics/capture-metrics.ts'
import { type CertificateValidity, writeCertificate } from './admin/metrics/certificate-metrics.ts'
import { type ConfigurationGauges, writeConfiguration } from './admin/metrics/configuration-metrics.ts'
import { bump, bumpIn } from './admin/metrics/counts.ts'
import { createExposition, type Exposition, Histogram, labelText } from './admin/metrics/exposition.ts'
import type { HostedWorkCounts } from './admin/metrics/hosted-work-metrics.ts'
import { createJournalMetrics, type JournalGauges } from './admin/metrics/journal-metrics.ts'
import { createLabelBounds, DENIED_LABEL, errorTypeOf } from './admin/metrics/labels.ts'
import { createLookUpMetrics, type LookUpMetrics } from './admin/metrics/look-up-metrics.ts'
import {
  createNarrowedTokenMetrics,
  type NarrowedTokenMetrics,
} from './admin/metrics/narrowed-token-metrics.ts'
import { newProcessCounters, writeActive, writeProcess, writeState } from './admin/metrics/process-metrics.ts'
import { countRequest, SeriesCounters, writeSlots } from './admin/metrics/request-metrics.ts'
import type { JournalMetrics } from './journal/journal-deps.ts'
import type { DenyReason } from './pipeline/outcome.ts'

/** Values read at scrape time. */
export type Gauges = {
  readonly activeByAgent: ReadonlyMap<string | null, number>
  readonly killEntries: readonly KillEntry[]
  readonly approvalsPending: number
  readonly connectors: number
  readonly uptimeSeconds: number
  readonly deferredBatches: number
  readonly journal: JournalGauges
  readonly hostedWork: HostedWorkCounts
  readonly capture: CaptureGauges
  readonly configuration: ConfigurationGauges
  /** Certificate with which a sidecar signs the certificates that its agent sees; null without one. */
  readonly certificate: CertificateValidity | null
  /** Number of cached tokens that are narrowed to the actions of a request. */
  readonly narrowedTokens: number
}

export type Metrics = {
  /** Counts an accepted request. */
  accepted(): void
  /** Counts a finished request. `isEchoMasked` is true when the response contained the injected credential. */
  finished(record: OwnRecord, denyReason: DenyReason | null, isEchoMasked?: boolean): void
  /** Counts a blocked event loop by the stage that ran. */
  loopBlocked(stage: string): void
  /**
   * Counts a refused or evicted connection by the setting whose limit was reached. `agent` is null when the connection
   * was evicted before it authenticated.
   */
  overQuota(agent: string | null, limit: string): void
  readonly journal: JournalMetrics
  readonly lookUps: LookUpMetrics
  readonly narrowed: NarrowedTokenMetrics
  /** Numbers of accepted requests, and of finished requests by decision, since the start. */
  readonly counts: {
    readonly total: number
    readonly ALLOW: number
    readonly HOLD: number
    readonly DENY: number
  }
  /** Returns the body of `GET /metrics`. */
  scrape(gauges: Gauges): string
  /** Returns the body of `GET /internal/metrics`. */
  internal(gauges: Gauges): string
}

const LATENCY_MS_BOUNDS = [1, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000]

function createFurther() {
  return {
    journal: createJournalMetrics(),
    lookUps: createLookUpMetrics(),
    narrowed: createNarrowedTokenMetrics(),
  } as const
}

export function createMetrics(): Metrics {
  const bounds = createLabelBounds()
  const byAgent = new Map<string, Map<string, SeriesCounters>>()
  const slots: SeriesCounters[] = []
  const process = newProcessCounters()
  const seenAgents = new Set<string>()
  const seenScopes = new Set<string>(['all'])
  const latency = new Histogram(LATENCY_MS_BOUNDS)
  const further = createFurther()
  const counts = { total: 0, ALLOW: 0, HOLD: 0, DENY: 0 }

  function countersOf(agent: string, connector: string): SeriesCounters {
    const own = byAgent.get(agent) ?? new Map<string, SeriesCounters>()
    const known = own.get(connector)
    if (known !== undefined) return known
    const slot = new SeriesCounters(agent, connector)
    byAgent.set(agent, own.set(connector, slot))
    slots.push(slot)
    seenAgents.add(agent)
    return slot
  }

  return {
    counts,
    ...further,
    accepted() {
      counts.total++
    },
    finished(record, denyReason, isEchoMasked = false) {
      const slot = countersOf(bounds.agent(record.agent), bounds.connector(record.connector))
      counts[record.decision]++
      latency.observe(record.latency_ms)
      countRequest(slot, record, bounds.action(record.action_type))
      const reason = denyReason === null ? null : DENIED_LABEL[denyReason]
      if (reason !== null) bump(slot.denied, reason)
      if (isEchoMasked) slot.masked++
      if (denyReason === 'rate_limit') bump(process.rateLimited, slot.agent)
      const errorType = errorTypeOf(record)
      if (errorType !== null) bumpIn(process.connectorErrors, slot.connector, errorType)
    },
    loopBlocked: (stage) => bump(process.loopBlocked, stage),
    overQuota: (agent, limit) =>
      bump(process.overQuota, labelText({ agent: agent === null ? '' : bounds.agent(agent), limit })),
    scrape(gauges) {
      const out = createExposition()
      writeSlots(out, slots)
      writeActive(out, gauges, { seenAgents, label: bounds.agent })
      writeState(out, gauges, seenScopes)
      writeProcess(out, process)
      further.journal.write(out, gauges.journal)
      writeCapture(out, gauges.capture)
      writeConfiguration(out, gauges.configuration)
      writeCertificate(out, gauges.certificate)
      further.narrowed.write(out, gauges.narrowedTokens)
      return further.lookUps.write(out).text()
    },
    internal(gauges) {
      const out = createExposition()
      out.family('svc_traffic_total', 'counter', 'Proxied requests accepted.')
      out.sample('svc_traffic_total', '', counts.total)
      out.family('svc_traffic_latency_ms', 'histogram', 'Milliseconds from request to end of response.')
      out.histogram('svc_traffic_latency_ms', '', latency)
      writeGauge(out, 'svc_processes_active', 'Gateway processes that share this address.', 1)
      writeGauge(out, 'svc_connectors_total', 'Connectors in the configuration in force.', gauges.connectors)
      writeGauge(out, 'svc_gateway_uptime_seconds', 'Seconds since process start.', gauges.uptimeSeconds)
      return out.text()
    },
  }
}

function writeGauge(out: Exposition, name: string, help: string, value: number): void {
  out.family(name, 'gauge', help)
  out.sample(name, '', value)
}
