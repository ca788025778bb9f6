import { join } from 'node:path'
import type { Logger } from 'pino'
import { POD_PORTS } from '../core/capture/pod-contract.ts'
import { type HostIndex, terminatedHosts } from '../core/connectors/registry.ts'
import { ChaperoneError } from '../core/errors.ts'
import { isLoopback } from '../core/loopback.ts'
import { LIMITS } from '../core/wire/limits.ts'
import { createAgentPorts } from './admin/agent-ports.ts'
import { createInternalApi } from './admin/internal-api.ts'
import { createPortKeys } from './admin/port-keys.ts'
import { createRecentRecords } from './admin/recent-records.ts'
import { internalRoutes } from './admin/routes.ts'
import { challengeRoutes } from './admin/routes-challenge.ts'
import { loadOrCreateToken, readToken } from './admin/token-file.ts'
import { createView } from './admin/view.ts'
import { openCaptureSocket } from './capture/capture-socket.ts'
import { createUnlistedPorts } from './capture/unlisted-ports.ts'
import type { GatewayConfig, PodConfig } from './config.ts'
import type { ClientDeps } from './control/client/client.ts'
import { type ControlPlane, createControlPlane } from './control/control-plane.ts'
import { cutInactive } from './control/cut-inactive.ts'
import { createOrderExecutor } from './control/execute/execute.ts'
import { createFetchHandleOwners, createHandleRegistry } from './control/handle-registry.ts'
import { createKilledWork } from './control/hosted-work/killed-work.ts'
import { createKillState } from './control/kill-switch/kill-state.ts'
import { createLiveExchanges } from './control/live-exchanges.ts'
import { createAcquireQuotaLease } from './control/quota/quota-lease-client.ts'
import { createRateLimits } from './control/quota/rate-limits.ts'
import { createUploader, type Uploader } from './control/records/record-uploader.ts'
import { createEvents } from './events.ts'
import { Journal } from './journal/journal.ts'
import { lockDataDir } from './journal/lock.ts'
import type { FrontDeps } from './listener/deps.ts'
import { createFront, type Front } from './listener/front.ts'
import { createMetrics } from './metrics.ts'
import { resolveAbsolute } from './name-owner.ts'
import { createConnectionRules } from './pipeline/admit.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import type { PipelinePorts } from './pipeline/ports.ts'
import { createRefusals } from './pipeline/refusal/refusals.ts'
import { openPod, type Pod, signRequest } from './pod.ts'
import { systemClock } from './process/clock.ts'
import { connectionLimits, descriptorLimit } from './process/connection-limits.ts'
import { createIds } from './process/ids.ts'
import { bodyBudget, memoryLimit } from './process/memory-limit.ts'
import { once } from './process/once.ts'
import { createWatchdog } from './process/watchdog.ts'
import { type CertificateAuthority, loadCertificateAuthority } from './tls/certificate-authority.ts'
import { createLeafCache, type LeafCache, MAX_LEAVES } from './tls/leaf-cache.ts'
import { createPodCa, type PodCa } from './tls/pod-ca.ts'
import { createDialer } from './upstream/dial.ts'
import { createUpstream } from './upstream/http.ts'

export type Gateway = {
  readonly port: number
  /** Stops accepting, fails holds with 503, and uploads pending records. Takes less than two seconds. */
  close(): Promise<void>
}

const FIRST_SNAPSHOT_MS = 5_000
const CLOSE_GRACE_MS = 700
const LAST_UPLOAD_MS = 600
const NO_HOSTS: HostIndex = { exact: new Map(), wildcards: new Map() }
const HEAD_TIMEOUT_MS = 30_000

/**
 * Composes and starts the whole process. Resolves when it listens and has its first snapshot, or after 5 s without
 * one; it then answers 503 until the control plane is reachable. Rejects with an error that says what to change when
 * it cannot start.
 */
export async function createGateway(config: GatewayConfig, log: Logger): Promise<Gateway> {
  const readGatewayToken = () => readToken(config.gatewayTokenFile, 'GATEWAY_TOKEN_FILE')
  // Reads the file before anything starts, so that a missing file fails the start.
  const first = await readGatewayToken()
  const token = config.pod === null ? first : readGatewayToken
  const issuer =
    config.pod === null
      ? null
      : createPodCa({
          ...{ name: config.pod.agent, own: config.ca, log },
          sign: (request) => signRequest(core.control.client, request),
          onIssued: () => core.renewLeaves(),
          random: Math.random,
        })
  const ca = issuer?.ca ?? (await loadCertificateAuthority(config.ca))
  const leaf = createLeafCache(ca, { max: MAX_LEAVES.owned })
  const core = createCore(config, { log, token, leaf, issuer })
  try {
    return await serve(config, { log, ca, issuer, leaf, core })
  } catch (error) {
    issuer?.close()
    await shutDown({ ...core, front: null, pod: null, log })
    throw error
  }
}

type Core = ReturnType<typeof createCore>
type Made = {
  readonly log: Logger
  readonly token: ClientDeps['token']
  readonly leaf: LeafCache
  /** Requests the certificates of the CA in a pod; null elsewhere. */
  readonly issuer: PodCa | null
}

/** Creates everything except the sockets that agents reach: state, control plane client and pipeline. */
function createCore(config: GatewayConfig, given: Made) {
  const { log, token, leaf, issuer } = given
  const lock = lockDataDir(config.dataDir)
  const clock = systemClock
  const newId = createIds()
  const live = createLiveExchanges()
  const metrics = createMetrics()
  const recent = createRecentRecords()
  const unlistedPorts = createUnlistedPorts()
  const events = createEvents({ metrics, recent, unlistedPorts, log })
  const kill = createKillState({ file: join(config.dataDir, 'kill.json'), live, clock, log })
  const handleLater: typeof handle = (exchange) => handle(exchange)
  const stopped = createKilledWork({ kill, clock, newId, handle: handleLater, control: () => control })
  const address: Address = { url: '', conditions: () => [] }
  const journal = new Journal({
    dir: join(config.dataDir, 'journal'),
    processId: newId('process'),
    ...{ maxBytes: config.journalMaxBytes, log, metrics: metrics.journal },
    onBatchReady: () => uploader.wake(),
    isSync: () => control.snapshots.current()?.gateway.audit === 'sync',
  })
  const view = createView({
    ...{ clock, kill, journal, events, metrics, unlistedPorts, controlPlaneUrl: config.controlPlaneUrl },
    ...{ control: () => control, deferrals: () => uploader.deferrals, ...stopped },
  })
  const rate = createRateLimits({
    monotonicMs: clock.monotonicMs,
    acquireLease: createAcquireQuotaLease(() => control.client),
  })
  const refusals = createRefusals({ journal, events, clock, newId, peers: rate, whole: config.wholeRefusals })
  const control: ControlPlane = createControlPlane({
    ...{ url: config.controlPlaneUrl, token, processId: journal.processId, kill, clock, log },
    ...{ caFile: config.pod?.controlPlaneCaFile ?? null, random: Math.random, ...stopped },
    status: () => ({ ...view.report(address.url), conditions: [...address.conditions()] }),
    onSnapshot: (snapshot) => {
      cutInactive(live, snapshot)
      const hosts = terminatedHosts(snapshot.hosts)
      issuer?.cover(hosts)
      if (issuer?.isReady ?? true) leaf.preMint(hosts)
    },
    onQuota: rate.share,
    execute: (order) => execute(order),
  })
  const uploader: Uploader = createUploader({ client: control.client, journal, random: Math.random, log })
  const upstream = createUpstream({
    dialer: createDialer(config.pod === null ? {} : { resolve: resolveAbsolute }),
    ...{ monotonicMs: clock.monotonicMs, onLookUp: metrics.lookUps.asked },
  })
  const ports: PipelinePorts = {
    ...{ kill, journal, live, events, clock, newId, rate, refusals, holds: control.holds, ...stopped },
    ...{ lookUps: upstream.lookUps, snapshot: control.snapshots.current, lease: { step: control.leaseStep } },
    handles: createHandleRegistry({
      fetchOwners: createFetchHandleOwners(() => control.client),
      monotonicMs: clock.monotonicMs,
    }),
  }
  const watchdog = createWatchdog({ log, clock, config, onBlocked: metrics.loopBlocked })
  const handle = createPipeline(ports, upstream, {
    clock: watchdog.stages,
    bodyBudget: { totalBytes: bodyBudget(config.bodyBudgetBytes, memoryLimit()) },
  })
  const execute = createOrderExecutor({ ports, handle })
  return {
    ...{ lock, address, journal, control, uploader, upstream, ports, kill, live, rate, refusals, watchdog },
    renewLeaves() {
      leaf.clear()
      leaf.preMint(terminatedHosts(control.snapshots.current()?.hosts ?? NO_HOSTS))
    },
    ...{ handle, view, metrics, recent, events, ...stopped },
  }
}

type Served = {
  readonly log: Logger
  readonly ca: CertificateAuthority
  /** Requests the certificates of the CA in a pod; null elsewhere. */
  readonly issuer: PodCa | null
  readonly leaf: LeafCache
  readonly core: Core
}

/** Known only once the gateway listens. */
type Address = { url: string; conditions: Pod['conditions'] }

async function serve(config: GatewayConfig, given: Served): Promise<Gateway> {
  const { log, ca, issuer, leaf, core } = given
  const { control, uploader, ports } = core
  const internalToken = await loadOrCreateToken(config.internalTokenFile)
  const challenge = await challengeRoutes(config.installationKeyFile)
  const canRefuseInside = config.pod === null && !ca.isConstrained
  const listener: FrontDeps = {
    ...{ leaf, log, canRefuseInside, refusalLeaf: createLeafCache(ca, { max: MAX_LEAVES.refused }) },
    handle: core.handle,
    ...createConnectionRules(ports, canRefuseInside),
    onQuota: core.metrics.overQuota,
    api: (request) => api(request),
    newRequestId: () => ports.newId('request'),
    limits: {
      ...connectionLimits(config.connections, descriptorLimit(), config.pod !== null),
      idleTimeoutMs: LIMITS.idleTimeoutMs,
      headTimeoutMs: HEAD_TIMEOUT_MS,
    },
  }
  const front = createFront(listener)
  const portKeys = createPortKeys(await loadOrCreateToken(join(config.dataDir, 'ports.key')))
  const { accepts } = portKeys
  const agentPorts = createAgentPorts({ file: join(config.dataDir, 'ports.json'), front, accepts, log })
  const api = createInternalApi({
    token: internalToken,
    isLoopbackOnly: config.pod !== null || isLoopback(config.host),
    routes: internalRoutes({ ...core, agentPorts, portKeys, challenge, caPem: () => ca.caPem }),
    log,
  })
  const closeAll = (pod: Pod | null): Promise<void> => shutDown({ ...core, front, pod, log })
  if (config.pod !== null && issuer !== null) {
    return serveInPod(config.pod, { core, front, listener, issuer, log, closeAll })
  }
  const port = await front.listen(config.port, config.host)
  core.address.url = `http://${config.host}:${port}`
  await agentPorts.reopen()
  const { snapshots } = control
  const { monotonicMs } = ports.clock
  if (config.captureSocket !== null)
    await openCaptureSocket({
      ...{ path: config.captureSocket, front, listener, accepts, monotonicMs },
      snapshot: snapshots.current,
    })
  control.start()
  uploader.start()
  await control.waits.until(() => control.snapshots.current() !== null, FIRST_SNAPSHOT_MS)
  log.info({ port, snapshot: control.snapshots.current()?.version ?? null }, 'gateway listens')
  return { port, close: once(() => closeAll(null)) }
}

type InPod = {
  readonly core: Core
  readonly front: Front
  readonly listener: FrontDeps
  readonly issuer: PodCa
  readonly log: Logger
  readonly closeAll: (pod: Pod | null) => Promise<void>
}

/**
 * Starts the gateway in a pod. Does not wait for a snapshot, because the start-up probe of the kubelet delays the
 * agent.
 */
async function serveInPod(config: PodConfig, given: InPod): Promise<Gateway> {
  const { core, front, listener, issuer, log, closeAll } = given
  const { control, uploader, view, metrics, ports, address } = core
  control.start()
  uploader.start()
  const pod = await openPod({
    ...{ config, front, listener, issuer, log },
    waits: control.waits,
    snapshot: control.snapshots.current,
    health: view.health,
    scrape: () => metrics.scrape(view.gauges()),
    monotonicMs: ports.clock.monotonicMs,
    onChange: control.reportStatus,
  }).catch(async (error: unknown) => {
    await front.close(0)
    throw error
  })
  address.conditions = pod.conditions
  log.info({ agent: config.agent, interception: config.interception }, 'sidecar listens')
  return { port: POD_PORTS.health, close: once(() => closeAll(pod)) }
}

type Running = Core & {
  readonly front: Front | null
  readonly pod: Pod | null
  readonly log: Logger
}

async function shutDown({
  front,
  pod,
  control,
  uploader,
  upstream,
  live,
  journal,
  rate,
  refusals,
  watchdog,
  lock,
  log,
}: Running): Promise<void> {
  watchdog.close()
  control.close()
  const stopping = new ChaperoneError('not_ready', { detail: 'The gateway is stopping.', retryAfterS: 2 })
  control.holds.failAll(stopping)
  await pod?.close()
  await front?.close(CLOSE_GRACE_MS)
  live.abortAll(stopping)
  refusals.close()
  await Promise.all([uploader.close(LAST_UPLOAD_MS), rate.close()])
  await upstream.close()
  await control.client.close()
  journal.close()
  lock.release()
  log.info({}, 'gateway stopped')
}
