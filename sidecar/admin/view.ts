import { notUnderstoodWarnings } from '../../core/snapshot/snapshot.ts'
import type { Clock } from '../../core/state/clock.ts'
import type { GatewayHealth, GatewayStatus } from '../../core/wire/gateway/internal-replies.ts'
import type { StatusBody } from '../../core/wire/gateway/sync.ts'
import type { DeepReadonly } from '../../core/wire/schema/fields.ts'
import type { UnlistedPorts } from '../capture/unlisted-ports.ts'
import type { ControlPlane } from '../control/control-plane.ts'
import type { Cancellations } from '../control/hosted-work/cancellations.ts'
import type { HostedWork } from '../control/hosted-work/hosted-work.ts'
import type { KillState } from '../control/kill-switch/kill-state.ts'
import type { Events } from '../events.ts'
import type { Journal } from '../journal/journal.ts'
import { isMemoryBacked } from '../journal/memory-backed.ts'
import type { Gauges, Metrics } from '../metrics.ts'
import { VERSION } from '../process/version.ts'
import type { CaptureGauges } from './metrics/capture-metrics.ts'
import type { CertificateValidity } from './metrics/certificate-metrics.ts'

/** Reads the state of the gateway for the API, the metrics and the control plane. */
export type GatewayView = {
  health(): GatewayHealth
  /** Returns the body of `GET /internal/status`. */
  status(): DeepReadonly<GatewayStatus>
  gauges(): Gauges
  /** Returns the status report for the control plane. */
  report(url: string): StatusBody
}

export type ViewDeps = {
  readonly clock: Clock
  readonly controlPlaneUrl: string
  /**
   * Returns the control plane client. The member is a function, because the client is created after this view and reads
   * the view.
   */
  readonly control: () => ControlPlane
  readonly kill: KillState
  readonly journal: Journal
  readonly events: Events
  readonly metrics: Metrics
  readonly unlistedPorts: Pick<UnlistedPorts, 'warnings'>
  readonly hostedWork: Pick<HostedWork, 'size' | 'dropped' | 'unidentifiedCount'>
  readonly cancellations: Pick<Cancellations, 'report'>
  /** Returns the number of record batches that the ingest quota refused. */
  readonly deferrals: () => number
  /** Returns the number of cached tokens that are narrowed to the actions of a request. */
  readonly narrowedTokens: () => number
  readonly journalMaxBytes: number
  readonly capture: () => CaptureGauges
  /**
   * Returns the validity of the certificate with which a sidecar signs the certificates that its agent sees; null
   * without such a certificate.
   */
  readonly certificate: () => Omit<CertificateValidity, 'nowMs'> | null
}

/**
 * Maximum number of warnings about configuration that only a newer version of the gateway supports. The limit of all
 * warnings in a report is higher.
 */
const MAX_NOT_UNDERSTOOD = 32

export function createView(deps: ViewDeps): GatewayView {
  const { clock, kill, journal, events, metrics } = deps
  const isInMemory = isMemoryBacked(journal.dir)
  const startedAt = clock.monotonicMs()
  const uptime = () => Math.floor((clock.monotonicMs() - startedAt) / 1_000)
  const snapshot = () => deps.control().snapshots.current()
  const agents = () =>
    [...(snapshot()?.agentsByName.values() ?? [])].filter(({ status }) => status === 'active')
  const connectors = () => connectorTypes(deps.control())

  function state(): GatewayHealth['status'] {
    if (snapshot() === null) return 'not_ready'
    return deps.control().heartbeats.lostForMs() === 0 && journal.state === 'ok' ? 'ok' : 'degraded'
  }

  return {
    health: () => ({
      status: state(),
      uptime_seconds: uptime(),
      agents: agents().length,
      connectors: [...new Set(connectors().values())].sort(),
    }),
    status: () => ({
      status: state(),
      name: snapshot()?.gateway.name ?? null,
      version: VERSION,
      enforcement_level: snapshot()?.gateway.level ?? null,
      snapshot_version: snapshot()?.version ?? null,
      control_plane: controlPlaneOf(deps),
      lease: deps.control().leaseStep(),
      kill_switches: kill.effective(),
      journal: journalOf(deps),
      counts: countsOf(metrics, events, deps.control().holds.waiting),
      uptime_seconds: uptime(),
    }),
    gauges: () => ({
      activeByAgent: events.activeByAgent(),
      killEntries: kill.effective(),
      approvalsPending: deps.control().holds.waiting,
      connectors: connectors().size,
      uptimeSeconds: uptime(),
      deferredBatches: deps.deferrals(),
      narrowedTokens: deps.narrowedTokens(),
      hostedWork: deps.hostedWork,
      capture: deps.capture(),
      ...stateGauges(deps),
    }),
    report: (url) => ({
      url,
      version: VERSION,
      applied_version: snapshot()?.version ?? null,
      agents: agents().length,
      uptime_seconds: uptime(),
      journal: { state: journal.state, pending: journal.pending, bytes: journal.bytes },
      hosted_work: deps.cancellations.report(),
      warnings: [
        ...notUnderstoodWarnings(snapshot()).slice(0, MAX_NOT_UNDERSTOOD),
        ...deps.unlistedPorts.warnings(snapshot()),
        ...quotaWarnings(deps.deferrals(), journal.pending),
        ...journalWarnings(journal, isInMemory && snapshot()?.gateway.audit === 'sync'),
      ],
    }),
  }
}

function stateGauges(deps: ViewDeps): Pick<Gauges, 'journal' | 'configuration' | 'certificate'> {
  const { journal, clock } = deps
  const { heartbeats, snapshots } = deps.control()
  const certificate = deps.certificate()
  return {
    journal: {
      state: journal.state,
      bytes: journal.bytes,
      limitBytes: deps.journalMaxBytes,
      pending: journal.pending,
      lost: journal.lost,
    },
    configuration: {
      version: snapshots.current()?.version ?? null,
      lostForSeconds: heartbeats.lostForMs() / 1_000,
    },
    certificate: certificate === null ? null : { ...certificate, nowMs: clock.nowMs() },
  }
}

function journalWarnings({ state, problem }: Journal, isUnprotected: boolean): readonly string[] {
  const warnings = state === 'ok' ? [] : [problem]
  if (!isUnprotected) return warnings
  const memory =
    'The Gateway has audit: sync, but the journal of this gateway is in memory, where a power loss deletes it. Restart the pod, so that the pod gets a volume on the disk of its node. Outside a cluster, move DATA_DIR to a disk.'
  return [...warnings, memory]
}

function quotaWarnings(deferrals: number, pending: number): readonly string[] {
  if (deferrals === 0) return []
  return [
    `The control plane deferred ${deferrals} batches of records of this process, because they exceed the ingest quota. ${pending} records are pending in the journal and are sent later.`,
  ]
}

function controlPlaneOf({ controlPlaneUrl, control }: ViewDeps) {
  const { heartbeats } = control()
  return {
    url: controlPlaneUrl,
    connected: heartbeats.isConnected,
    lost_for_seconds: Math.round(heartbeats.lostForMs() / 1_000),
  }
}

function journalOf({ journal, control, deferrals }: ViewDeps) {
  return {
    state: journal.state,
    pending: journal.pending,
    bytes: journal.bytes,
    lost: journal.lost,
    deferred_batches: deferrals(),
    audit: control().snapshots.current()?.gateway.audit ?? null,
    problem: journal.state === 'ok' ? null : journal.problem,
  }
}

function countsOf({ counts }: Metrics, events: Events, held: number) {
  const active = [...events.activeByAgent().values()].reduce((sum, n) => sum + n, 0)
  return {
    total: counts.total,
    allowed: counts.ALLOW,
    held: counts.HOLD,
    denied: counts.DENY,
    active,
    waiting: held,
  }
}

/** Returns the connector type by the id of the Connector, for every Connector that owns a host. */
function connectorTypes(control: ControlPlane): ReadonlyMap<string, string> {
  const hosts = control.snapshots.current()?.hosts
  const owners = hosts === undefined ? [] : [...hosts.exact.values(), ...hosts.wildcards.values()].flat()
  return new Map(owners.map(({ bound }) => [bound.entry.id, bound.connector.name]))
}
