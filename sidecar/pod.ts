import { chmod, rm } from 'node:fs/promises'
import { isOpaque } from '../core/capture/host-names.ts'
import { POD_PORTS } from '../core/capture/pod-contract.ts'
import { podSearchDomains } from '../core/capture/search-names.ts'
import type { Resolve } from '../core/request/outbound-address.ts'
import type { Snapshot } from '../core/snapshot/snapshot.ts'
import { CertificateReply } from '../core/wire/gateway/certificate.ts'
import type { GatewayHealth } from '../core/wire/gateway/internal-replies.ts'
import { SYNC_PATHS } from '../core/wire/gateway/sync.ts'
import { openHealthServer } from './admin/health-server.ts'
import { watchForeignSockets } from './capture/foreign-sockets.ts'
import {
  type CaptureState,
  createProbe,
  hasIpv6Loopback,
  outwardFamilies,
  type Probe,
} from './capture/probe.ts'
import type { PodConfig } from './config.ts'
import { type ControlClient, jsonOf } from './control/client/client.ts'
import type { ConditionWaits } from './control/snapshot/condition-waits.ts'
import { serveApi } from './listener/api.ts'
import { createOriginalDestination } from './listener/captured/original-destination.ts'
import { type CapturedKind, createTransparent } from './listener/captured/transparent.ts'
import type { FrontDeps } from './listener/deps.ts'
import { type AddressPool, createAddressPool } from './listener/dns/address-pool.ts'
import { createDns } from './listener/dns/dns.ts'
import { createUnownedNames } from './listener/dns/unowned-names.ts'
import type { Front } from './listener/front.ts'
import { Http1Connection } from './listener/http1/connection.ts'
import { existsBy, isUnownedHost, ownerOf } from './name-owner.ts'
import type { Log } from './process/log.ts'
import { createStartGate } from './start-gate.ts'
import type { PodCa } from './tls/pod-ca.ts'
import { writeTrustFolder } from './tls/trust-folder.ts'

export type PodDeps = {
  readonly config: PodConfig
  readonly front: Front
  readonly listener: FrontDeps
  readonly issuer: PodCa
  readonly snapshot: () => Snapshot | null
  readonly waits: ConditionWaits
  readonly health: () => GatewayHealth
  readonly scrape: () => string
  readonly resolve: Resolve
  /** Returns the reason why the control plane is not connected; null while it is connected. */
  readonly problem: () => string | null
  readonly monotonicMs: () => number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Called when a change should be reported to the control plane immediately. */
  readonly onChange: () => void
}

export type Pod = {
  /** Returns the active error conditions, named as in the status of a Gateway. */
  conditions(): readonly PodCondition[]
  /** Returns the state of the traffic capture; null without redirect rules. */
  captureState(): CaptureState | null
  close(): Promise<void>
}
/** `BypassDetected/ProxyUser` adds the cause: another process runs as the user of the proxy. */
export type PodCondition = 'BypassDetected' | 'BypassDetected/ProxyUser'

/**
 * Longest wait for a certificate signed by the control plane, in milliseconds. Afterwards the agent trusts only the
 * root of the pod.
 */
const FIRST_CERTIFICATE_MS = 25_000

/**
 * Opens the listeners of a sidecar: redirected traffic and DNS, or the proxy port with `interception: proxyEnv`; the
 * probes of the kubelet; and the internal API, which is on a Unix socket because the agent shares the loopback
 * interface. Rejects when a port is in use.
 */
export async function openPod(deps: PodDeps): Promise<Pod> {
  const { config, front } = deps
  const isTransparent = config.interception === 'transparent'
  let wasProven = false
  const probe = createProbe({
    log: deps.log,
    isIpv6Closed: config.isIpv6Closed,
    onChange(state) {
      wasProven ||= state === 'proven'
      deps.waits.changed()
      deps.onChange()
    },
  })
  // A probe that proves nothing is no bypass at first, because there may be no route, or the listeners may not be open
  // yet. After the capture was proven once, such a probe counts as a bypass.
  const isBroken = () => probe.state === 'bypassed' || (wasProven && probe.state !== 'proven')
  const foreign = isTransparent ? watchForeignSockets({ log: deps.log, onChange: deps.onChange }) : null
  const closing: Array<() => Promise<void>> = []
  const gate = createStartGate(deps, () => !isTransparent || probe.state === 'proven')
  const open = async (): Promise<void> => {
    if (isTransparent) closing.push(await openCapture(deps, probe))
    else await front.openAgentPort(config.agent, POD_PORTS.proxy)
  }
  const undo = async (): Promise<void> => {
    probe.close()
    foreign?.close()
    deps.issuer.close()
    await Promise.all(closing.map((close) => close()))
  }
  try {
    closing.push((await openHealthServer(POD_PORTS.health, { ...deps, ...gate })).close)
    await openAdminSocket(deps)
    const opened = open().then(gate.opened)
    // When the listeners cannot be opened, no certificate is needed.
    opened.catch(() => deps.issuer.close())
    // The control plane signs the certificate while the listeners open and the capture is probed.
    const all = await Promise.allSettled([opened, writeTrust(deps).then(gate.trusted)])
    for (const one of all) if (one.status === 'rejected') throw one.reason
  } catch (error) {
    await undo()
    throw error
  }
  return {
    conditions: () => conditionsOf(isBroken(), foreign?.isFound === true),
    captureState: () => (isTransparent ? probe.state : null),
    close: undo,
  }
}

function conditionsOf(isBroken: boolean, isUserShared: boolean): readonly PodCondition[] {
  return [
    ...(isBroken || isUserShared ? (['BypassDetected'] as const) : []),
    ...(isUserShared ? (['BypassDetected/ProxyUser'] as const) : []),
  ]
}

/** Requests a certificate from the control plane. Rejects with the reply of the control plane when it signs none. */
export async function signRequest(client: ControlClient, request: string): Promise<string> {
  const reply = await client.post(SYNC_PATHS.certificate, { request })
  const parsed = CertificateReply.safeParse(jsonOf(reply))
  if (reply.status === 200 && parsed.success) return parsed.data.chain
  throw new Error(
    `the control plane answered ${reply.status} to the request for a certificate: ${reply.bytes.toString('utf8', 0, 300)}`,
  )
}

async function writeTrust({ config, issuer }: PodDeps): Promise<void> {
  const caPems = await issuer.ready(FIRST_CERTIFICATE_MS)
  await writeTrustFolder({ dir: config.trustDir, caPems, extraFile: config.extraCaFile })
}

async function openCapture(deps: PodDeps, probe: Probe): Promise<() => Promise<void>> {
  const pool = createAddressPool()
  const unowned = createUnownedNames({
    ...deps.listener,
    domains: podSearchDomains(deps.config.pod.namespace, deps.config.dns),
    isUnowned: (name) => ownerOf(deps.snapshot(), name) === 'unknown',
    monotonicMs: deps.monotonicMs,
  })
  const dns = await createDns({
    port: POD_PORTS.dns,
    pool,
    ownerOf: (name) => ownerOf(deps.snapshot(), name),
    exists: existsBy(deps.resolve),
    answersUnowned: false,
    onUnowned: (name) => unowned(name, { kind: 'port', agent: deps.config.agent }),
    families: () => ({ ...outwardFamilies(), ...(deps.config.isIpv6Closed && { v6: false }) }),
    monotonicMs: deps.monotonicMs,
    log: deps.listener.log,
  })
  try {
    await openRedirected(deps, probe, pool)
    await probe.start()
  } catch (error) {
    await dns.close()
    throw error
  }
  return dns.close
}

const REDIRECTED: ReadonlyArray<readonly [CapturedKind, number]> = [
  ['tls', POD_PORTS.tls],
  ['http', POD_PORTS.http],
  ['other', POD_PORTS.other],
]

async function openRedirected(
  { config, front, listener, snapshot }: PodDeps,
  probe: Probe,
  pool: AddressPool,
): Promise<void> {
  const originalDestination = createOriginalDestination()
  const serve = createTransparent({
    ...listener,
    credentials: { kind: 'port', agent: config.agent },
    isProbe: probe.isProbe,
    isOpaque(host, port) {
      const rules = snapshot()
      return rules !== null && isOpaque(rules, host, port)
    },
    isUnowned: (host, port) => isUnownedHost(snapshot(), host, port),
    async destinationOf(socket) {
      const destination = await originalDestination(socket)
      return destination && { host: pool.nameOf(destination.address), ...destination }
    },
  })
  for (const [kind, port] of REDIRECTED) {
    await front.openListener({ port, host: '127.0.0.1' }, (arrival) => serve(kind, arrival))
    // Redirected IPv6 connections arrive on ::1. On a machine without IPv6 there are none.
    if (hasIpv6Loopback()) await front.openListener({ port, host: '::1' }, (arrival) => serve(kind, arrival))
  }
}

/**
 * Opens the internal API on a Unix socket, in a volume that only the sidecar mounts. Clients of the socket still need
 * the token.
 */
async function openAdminSocket({ config, front, listener }: PodDeps): Promise<void> {
  const path = config.adminSocket
  await rm(path, { force: true })
  await front.openListener({ path }, ({ socket, deadline }) => {
    const api: FrontDeps['api'] = (request) => listener.api({ ...request, remoteAddress: '127.0.0.1' })
    new Http1Connection(socket, {
      handler: (incoming) => serveApi({ ...listener, api }, incoming),
      deadline,
      idleTimeoutMs: listener.limits.headTimeoutMs,
      headTimeoutMs: listener.limits.headTimeoutMs,
      onFailure: (error) => listener.log.error({ err: error }, 'internal API failed'),
    }).start(null)
  })
  await chmod(path, 0o600)
}
