import { join } from 'node:path'
import type { Logger } from 'pino'
import { type HostIndex, terminatedHosts } from '../core/connectors/registry.ts'
import { createRecentRecords } from './admin/recent-records.ts'
import { createView } from './admin/view.ts'
import { createUnlistedPorts } from './capture/unlisted-ports.ts'
import type { GatewayConfig } from './config.ts'
import type { ClientDeps } from './control/client/client.ts'
import { withKnownAddress } from './control/client/known-address.ts'
import { type ControlPlane, createControlPlane } from './control/control-plane.ts'
import { createCredentialRefresh } from './control/credential-refresh.ts'
import { cutInactive } from './control/cut-inactive.ts'
import { createOrderExecutor } from './control/execute/execute.ts'
import { createFetchHandleOwners, createHandleRegistry } from './control/handle-registry.ts'
import { createKilledWork } from './control/hosted-work/killed-work.ts'
import { createKillState } from './control/kill-switch/kill-state.ts'
import { createLiveExchanges } from './control/live-exchanges.ts'
import { createNarrowedTokens } from './control/narrowed-tokens.ts'
import { createPodInstance } from './control/pod-instance.ts'
import { createAcquireQuotaLease } from './control/quota/quota-lease-client.ts'
import { createRateLimits } from './control/quota/rate-limits.ts'
import { createUploader, type Uploader } from './control/records/record-uploader.ts'
import { createEvents } from './events.ts'
import { Journal } from './journal/journal.ts'
import { lockDataDir } from './journal/lock.ts'
import { createMetrics } from './metrics.ts'
import { currentEntry } from './pipeline/credentials/minted-secret.ts'
import { createPipeline } from './pipeline/pipeline.ts'
import type { PipelinePorts } from './pipeline/ports.ts'
import { createRefusals } from './pipeline/refusal/refusals.ts'
import type { Pod } from './pod.ts'
import { systemClock } from './process/clock.ts'
import { createIdleCollection, garbageCollector } from './process/idle-collection.ts'
import { createIds } from './process/ids.ts'
import { bodyBudget, memoryLimit } from './process/memory-limit.ts'
import { createWatchdog } from './process/watchdog.ts'
import type { LeafCache } from './tls/leaf-cache.ts'
import type { PodCa } from './tls/pod-ca.ts'
import { createDialer, resolveByDns } from './upstream/dial.ts'
import { createUpstream } from './upstream/http.ts'
import { createResolver } from './upstream/resolver.ts'

const NO_HOSTS: HostIndex = { exact: new Map(), wildcards: new Map() }

type Made = {
  readonly log: Logger
  readonly token: ClientDeps['token']
  readonly leaf: LeafCache
  /** CA of a pod, which requests its certificates from the control plane; null outside of a pod. */
  readonly issuer: PodCa | null
}

/** URL, error conditions and capture state of the gateway, which are available only once the gateway listens. */
type Address = { url: string; conditions: Pod['conditions']; captureState: Pod['captureState'] }

export type Core = ReturnType<typeof createCore>
/** Creates everything except the sockets that agents reach: state, client of the control plane, and pipeline. */
export function createCore(config: GatewayConfig, given: Made) {
  const { log, token, leaf, issuer } = given
  const lock = lockDataDir(config.dataDir)
  const clock = systemClock
  const resolve = config.pod === null ? resolveByDns : createResolver(config.pod.dns, clock.monotonicMs)
  const newId = createIds()
  const live = createLiveExchanges()
  const metrics = createMetrics()
  const recent = createRecentRecords()
  const unlistedPorts = createUnlistedPorts()
  const instance = createPodInstance(config.pod)
  const events = createEvents({ metrics, recent, unlistedPorts, log })
  const kill = createKillState({
    file: join(config.dataDir, 'kill.json'),
    live,
    instance: instance.current,
    clock,
    log,
  })
  const handleLater: typeof handle = (exchange) => handle(exchange)
  const killedWork = createKilledWork({ kill, clock, newId, handle: handleLater, control: () => control })
  const address: Address = { url: '', conditions: () => [], captureState: () => null }
  const journal = new Journal({
    dir: join(config.dataDir, 'journal'),
    processId: newId('process'),
    maxBytes: config.journalMaxBytes,
    log,
    metrics: metrics.journal,
    onBatchReady: () => uploader.wake(),
    isSync: () => control.snapshots.current()?.gateway.audit === 'sync',
  })
  const view = createView({
    clock,
    kill,
    journal,
    events,
    metrics,
    unlistedPorts,
    controlPlaneUrl: config.controlPlaneUrl,
    control: () => control,
    deferrals: () => uploader.deferrals,
    narrowedTokens: () => narrowed.size,
    journalMaxBytes: config.journalMaxBytes,
    capture: () => ({
      state: address.captureState(),
      isBypassDetected: address.conditions().includes('BypassDetected'),
    }),
    certificate: () => issuer?.validity ?? null,
    ...killedWork,
  })
  const rate = createRateLimits({
    monotonicMs: clock.monotonicMs,
    acquireLease: createAcquireQuotaLease(() => control.client),
  })
  const refusals = createRefusals({ journal, events, clock, newId, peers: rate, whole: config.wholeRefusals })
  const control: ControlPlane = createControlPlane({
    url: config.controlPlaneUrl,
    token,
    processId: journal.processId,
    kill,
    clock,
    log,
    caFile: config.pod?.controlPlaneCaFile ?? null,
    resolve: withKnownAddress(resolve, config.pod?.controlPlaneAddress ?? null, clock.monotonicMs),
    random: Math.random,
    ...killedWork,
    status: () => ({ ...view.report(address.url), conditions: [...address.conditions()] }),
    onSnapshot: (snapshot) => {
      cutInactive(live, snapshot)
      const hosts = terminatedHosts(snapshot.hosts)
      issuer?.cover(hosts)
      if (issuer?.isReady ?? true) leaf.preMint(hosts)
    },
    onQuota: rate.share,
    onInstance(changed) {
      instance.set(changed)
      kill.instanceChanged()
    },
    execute: (order) => execute(order),
  })
  const uploader: Uploader = createUploader({ client: control.client, journal, random: Math.random, log })
  const upstream = createUpstream({
    dialer: createDialer({ resolve }),
    monotonicMs: clock.monotonicMs,
    onLookUp: metrics.lookUps.asked,
  })
  const narrowed = createNarrowedTokens({
    client: () => control.client,
    isConnected: () => control.heartbeats.isConnected,
    clock,
    onAnswer: metrics.narrowed.answered,
  })
  const ports: PipelinePorts = {
    kill,
    journal,
    live,
    events,
    clock,
    newId,
    rate,
    refusals,
    holds: control.holds,
    ...killedWork,
    lookUps: upstream.lookUps,
    credentials: createCredentialRefresh({
      client: () => control.client,
      waits: () => control.waits,
      entryOf: (refused) => currentEntry(control.snapshots.current(), refused),
      isConnected: () => control.heartbeats.isConnected,
      monotonicMs: clock.monotonicMs,
    }),
    narrowed,
    snapshot: control.snapshots.current,
    instance: instance.current,
    lease: { step: control.leaseStep },
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
  const idleCollection = createIdleCollection({ live, clock, collect: garbageCollector() })
  return {
    lock,
    address,
    journal,
    control,
    uploader,
    upstream,
    ports,
    resolve,
    kill,
    live,
    rate,
    refusals,
    watchdog,
    idleCollection,
    renewLeaves() {
      leaf.clear()
      leaf.preMint(terminatedHosts(control.snapshots.current()?.hosts ?? NO_HOSTS))
    },
    handle,
    view,
    metrics,
    recent,
    events,
    ...killedWork,
  }
}
