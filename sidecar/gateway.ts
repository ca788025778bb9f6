import { join } from 'node:path'
import type { Logger } from 'pino'
import { POD_PORTS } from '../core/capture/pod-contract.ts'
import { ChaperoneError } from '../core/errors.ts'
import { isLoopback } from '../core/loopback.ts'
import { LIMITS } from '../core/wire/schema/limits.ts'
import { createAgentPorts } from './admin/agent-ports.ts'
import { createInternalApi } from './admin/internal-api.ts'
import { createPortKeys } from './admin/port-keys.ts'
import { internalRoutes } from './admin/routes.ts'
import { challengeRoutes } from './admin/routes-challenge.ts'
import { loadOrCreateToken, readToken } from './admin/token-file.ts'
import { openCaptureSocket } from './capture/capture-socket.ts'
import type { GatewayConfig, PodConfig } from './config.ts'
import { type Core, createCore } from './gateway-core.ts'
import type { FrontDeps } from './listener/deps.ts'
import { createFront, type Front } from './listener/front.ts'
import { createConnectionRules } from './pipeline/admit.ts'
import { openPod, type Pod, signRequest } from './pod.ts'
import { connectionLimits, descriptorLimit } from './process/connection-limits.ts'
import { once } from './process/once.ts'
import { type CertificateAuthority, loadCertificateAuthority } from './tls/certificate-authority.ts'
import { createLeafCache, type LeafCache, MAX_LEAVES } from './tls/leaf-cache.ts'
import { createPodCa, type PodCa } from './tls/pod-ca.ts'

export type Gateway = {
  readonly port: number
  /** Stops accepting connections, fails holds with 503, and uploads pending records. Takes less than two seconds. */
  close(): Promise<void>
}

const FIRST_SNAPSHOT_MS = 5_000
const CLOSE_GRACE_MS = 700
const LAST_UPLOAD_MS = 600
const HEAD_TIMEOUT_MS = 30_000

/**
 * Composes and starts the whole gateway process. Resolves when the gateway listens. Outside of a pod, also waits up to
 * 5 s for the first snapshot; without a snapshot, the gateway answers 503 until the control plane is reachable. Rejects
 * when the gateway cannot start, with an error that says what to change.
 */
export async function createGateway(config: GatewayConfig, log: Logger): Promise<Gateway> {
  const readGatewayToken = () => readToken(config.gatewayTokenFile, 'GATEWAY_TOKEN_FILE')
  // The token file is read before any other step, so that a missing file fails the start.
  const first = await readGatewayToken()
  const token = config.pod === null ? first : readGatewayToken
  const issuer =
    config.pod === null
      ? null
      : createPodCa({
          name: config.pod.agent,
          own: config.ca,
          log,
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

type Served = {
  readonly log: Logger
  readonly ca: CertificateAuthority
  /** CA of a pod, which requests its certificates from the control plane; null outside of a pod. */
  readonly issuer: PodCa | null
  readonly leaf: LeafCache
  readonly core: Core
}

async function serve(config: GatewayConfig, given: Served): Promise<Gateway> {
  const { log, ca, issuer, leaf, core } = given
  const { control, uploader, ports } = core
  const internalToken = await loadOrCreateToken(config.internalTokenFile)
  const challenge = await challengeRoutes(config.installationKeyFile)
  const canRefuseInside = config.pod === null && !ca.isConstrained
  const listener: FrontDeps = {
    leaf,
    log,
    canRefuseInside,
    refusalLeaf: createLeafCache(ca, { max: MAX_LEAVES.refused }),
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
      path: config.captureSocket,
      front,
      listener,
      accepts,
      monotonicMs,
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
  const { control, uploader, view, metrics, ports, address, resolve } = core
  control.start()
  uploader.start()
  const pod = await openPod({
    config,
    front,
    listener,
    issuer,
    log,
    waits: control.waits,
    snapshot: control.snapshots.current,
    health: view.health,
    scrape: () => metrics.scrape(view.gauges()),
    resolve,
    monotonicMs: ports.clock.monotonicMs,
    problem: control.problem,
    onChange: control.reportStatus,
  }).catch(async (error: unknown) => {
    await front.close(0)
    throw error
  })
  address.conditions = pod.conditions
  address.captureState = pod.captureState
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
  idleCollection,
  lock,
  log,
}: Running): Promise<void> {
  watchdog.close()
  idleCollection.close()
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
