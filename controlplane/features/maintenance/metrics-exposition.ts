import { Counter, Gauge, Registry } from 'prom-client'
import { countRelations } from '../../../core/wire/gateway/version-relation.ts'
import type { ChannelView } from '../../../core/wire/notifications/notification-channels.ts'
import type { GatewayProcess } from '../../../core/wire/operator/operator.ts'
import { VERSION } from '../../version.ts'
import type { ActionCounts } from '../actions/rows.ts'
import type { RecordDestination } from '../record-export/rows.ts'

/** All values of one scrape. */
export type MetricsState = {
  readonly counts: ActionCounts
  /** Number of manifest policies that were never in force, by owner: the platform team or tenants. */
  readonly invalid: Readonly<Record<'platform' | 'tenant', number>>
  /** Newest version of the configuration. */
  readonly version: number
  /** Gateway processes that are connected to any replica. */
  readonly processes: readonly GatewayProcess[]
  /** Number of kill switches in force. */
  readonly kills: number
  /** Age and remaining validity of the server certificate; null without TLS. */
  readonly certificate: { readonly ageS: number; readonly remainingS: number } | null
  /** Number of batches of traffic records that the ingest quota refused, by Gateway. */
  readonly refusedBatches: ReadonlyMap<string, number>
  readonly channels: readonly Pick<ChannelView, 'name' | 'state'>[]
  /** Short-lived credentials, by the name of their Connector. */
  readonly minted: readonly MintedMetrics[]
  /** Number of cached narrowed tokens, by Connector. */
  readonly narrowedTokens: ReadonlyMap<string, number>
  /** Destinations of exported records. */
  readonly destinations: readonly RecordDestination[]
}

export type MintedMetrics = {
  readonly connector: string
  /** Seconds since the current credential was issued; null when there is no credential. */
  readonly ageS: number | null
  /** Seconds until the current credential expires; null when there is no credential, or when it has no expiry. */
  readonly remainingS: number | null
  readonly isFailing: boolean
}

/**
 * Returns the metrics of one scrape in the exposition format of Prometheus. Each scrape has its own registry, because
 * all values are read at the time of the scrape.
 */
export function exposition(state: MetricsState): Promise<string> {
  const registry = new Registry()
  const write = {
    gauge: (name: string, help: string, value: number) =>
      new Gauge({ name, help, registers: [registry] }).set(value),
    labelled(name: string, help: string, label: string, values: Iterable<readonly [string, number]>) {
      const gauge = new Gauge({ name, help, labelNames: [label], registers: [registry] })
      for (const [value, count] of values) gauge.set({ [label]: value }, count)
    },
    counter(name: string, help: string, label: string, values: Iterable<readonly [string, number]>) {
      const counter = new Counter({ name, help, labelNames: [label], registers: [registry] })
      for (const [value, count] of values) counter.inc({ [label]: value }, count)
    },
  }
  writeActions(registry, write, state)
  writeProcesses(write, state)
  writeCertificate(write, state)
  write.labelled(
    'svc_policies_invalid',
    'Policies of manifests that were invalid from the start, so that actions in their scope are denied, by tier (platform, tenant)',
    'tier',
    Object.entries(state.invalid),
  )
  write.labelled(
    'svc_notification_channel_failing',
    'Whether the last notification through a configured channel failed (1) or not (0), by channel (slack, email, webhook, chat_webhook, web_push)',
    'channel',
    state.channels.flatMap(({ name, state }) =>
      state === 'off' ? [] : [[name, state === 'failing' ? 1 : 0] as const],
    ),
  )
  writeMinted(write, state)
  writeDestinations(write, state)
  write.gauge('svc_kill_switches_active', 'Kill switches in force in the installation', state.kills)
  return registry.metrics()
}

type Write = {
  readonly gauge: (name: string, help: string, value: number) => void
  readonly labelled: (...series: Labelled) => void
  readonly counter: (...series: Labelled) => void
}
type Labelled = readonly [
  name: string,
  help: string,
  label: string,
  values: Iterable<readonly [string, number]>,
]

function writeActions(registry: Registry, write: Write, { counts, refusedBatches }: MetricsState): void {
  const { total, lastHour, decisions24h } = counts
  new Counter({
    name: 'svc_actions_total',
    help: 'Actions submitted to the v1 API or sent through gateways',
    registers: [registry],
  }).inc(total)
  write.gauge('svc_actions_last_hour', 'Actions of the last hour', lastHour)
  const outcomes = Object.entries(decisions24h)
  write.labelled('svc_decisions_24h', 'Decisions of the last 24 hours by outcome', 'outcome', outcomes)
  write.counter(
    'svc_record_batches_refused_total',
    'Batches of records over the ingest quota, by Gateway; the gateway sends them again',
    'gateway',
    refusedBatches,
  )
}

function writeProcesses(write: Write, { processes, version, kills }: MetricsState): void {
  const versions = processes.map((process) => process.version)
  write.gauge('svc_processes_active', 'Gateway processes connected to any replica', processes.length)
  write.labelled(
    'svc_gateway_processes',
    'Connected gateway processes by the relation of their version to that of the control plane (same, older, unsupported, newer, unknown)',
    'version',
    Object.entries(countRelations(versions, VERSION)),
  )
  write.gauge('svc_configuration_version', 'Newest version of the configuration', version)
  write.gauge(
    'svc_sync_version_lag',
    'Largest number of versions by which a connected gateway process is behind the configuration',
    processes.reduce((lag, { covered_version: covered }) => Math.max(lag, version - (covered ?? 0)), 0),
  )
  const conditions = processes.filter((process) => process.conditions.includes('BypassDetected'))
  write.gauge(
    'svc_gateway_processes_bypassed',
    'Connected gateway processes that report a bypass of their traffic capture',
    conditions.length,
  )
  write.gauge(
    'svc_gateway_processes_kill_pending',
    'Connected gateway processes that have not acknowledged the kill switches in force',
    kills === 0 ? 0 : processes.filter((process) => !process.has_kill_state).length,
  )
}

/** Maximum number of Connectors that have their own time series. */
const MAX_SERIES = 500

function writeMinted(write: Write, { minted, narrowedTokens }: MetricsState): void {
  const series = (value: (one: MintedMetrics) => number | null) =>
    minted.flatMap((one) => {
      const found = value(one)
      return found === null ? [] : [[one.connector, found] as const]
    })
  write.labelled(
    'svc_minted_credential_age_seconds',
    'Age of the current short-lived credential, by Connector',
    'connector',
    series(({ ageS }) => ageS),
  )
  write.labelled(
    'svc_minted_credential_remaining_seconds',
    'Seconds until the current short-lived credential expires, by Connector; negative after its expiry',
    'connector',
    series(({ remainingS }) => remainingS),
  )
  write.labelled(
    'svc_minted_credential_failing',
    'Whether the last refresh of a short-lived credential failed (1) or not (0), by Connector',
    'connector',
    series(({ isFailing }) => (isFailing ? 1 : 0)),
  )
  write.labelled(
    'svc_minted_credential_scopes',
    'Cached tokens that are narrowed to one request, by Connector',
    'connector',
    [...narrowedTokens].slice(0, MAX_SERIES),
  )
}

function writeDestinations(write: Write, { destinations }: MetricsState): void {
  const label = 'destination'
  const series = (value: (one: RecordDestination) => number) =>
    destinations.map((one) => [one.name, value(one)] as const)
  write.labelled(
    'svc_record_export_lag_seconds',
    'Seconds for which the oldest record that was not exported has waited, by destination; 0 when none waits',
    label,
    series(({ lagS }) => lagS),
  )
  write.counter(
    'svc_record_export_sent_total',
    'Records that the destination accepted, by destination',
    label,
    series(({ sent }) => sent),
  )
  write.counter(
    'svc_record_export_rejected_total',
    'Records that the destination refused for good, by destination',
    label,
    series(({ rejected }) => rejected),
  )
  write.counter(
    'svc_record_export_dropped_total',
    'Records that retention deleted before they were exported, by destination',
    label,
    series(({ dropped }) => dropped),
  )
  write.counter(
    'svc_record_export_errors_total',
    'Failed requests of the export of records, by destination',
    label,
    series(({ errors }) => errors),
  )
}

function writeCertificate(write: Write, { certificate }: MetricsState): void {
  const label = 'certificate'
  const one = (value: number | undefined) =>
    value === undefined ? [] : ([['control_plane', value]] as const)
  write.labelled(
    'svc_certificate_age_seconds',
    'Age of the certificate, by certificate',
    label,
    one(certificate?.ageS),
  )
  write.labelled(
    'svc_certificate_remaining_seconds',
    'Seconds until the certificate expires, by certificate; negative after its expiry',
    label,
    one(certificate?.remainingS),
  )
}
