import type { Logger } from 'pino'
import { gatewaySource } from '../../core/decision/kill-switch/kill-reach.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from '../kube/client.ts'
import { listCached } from '../kube/list-pages.ts'
import { type KubeObject, keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import type { Reflector, ReflectorMetrics, ReflectorTiming } from '../kube/reflector.ts'
import { createEmergencyMaps } from './emergency-maps.ts'
import type { KillRelay } from './kill-relay.ts'
import { clearedKillSwitch, type GatewayObject, killSwitchOfGateway } from './kill-switches.ts'

/**
 * Reads the kill switches of the cluster, from Gateways and emergency ConfigMaps. The watches report changes at once.
 * While the watch of the Gateways delivers no data, the Gateways are also listed from the cache of the API server every
 * 10 s. While a watch is broken, a list every 2 s replaces the watch.
 */
export type KillWatch = AsyncDisposable & {
  /** Called when a Gateway changed in its informer cache. */
  gatewayChanged(key: string): void
  /** Returns the milliseconds since the API server last sent all kill switches, by watch or list. */
  stalenessMs(): number
}

/** Intervals of lists in milliseconds. */
export type KillWatchTiming = {
  /** Milliseconds between two lists while the watch of the Gateways delivers no data. */
  readonly silentMs: number
  /** Milliseconds between two lists while a watch is broken. */
  readonly brokenMs: number
  /** Timing of the watch of the emergency ConfigMaps. */
  readonly maps?: ReflectorTiming
}

export type KillWatchDeps = {
  readonly client: KubeClient
  readonly gateways: Pick<
    Reflector<GatewayObject>,
    'get' | 'list' | 'resourceVersion' | 'stalenessMs' | 'isBroken'
  >
  readonly relay: Pick<KillRelay, 'offer'>
  /** Namespace of the installation. */
  readonly namespace: string
  /** Pods whose namespaces get an emergency ConfigMap. */
  readonly governedPods: () => readonly KubeObject[]
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly timing?: KillWatchTiming
}

const TIMING: KillWatchTiming = { silentMs: 10_000, brokenMs: 2_000 }
const LIST_TIMEOUT_MS = 10_000

export function createKillWatch(deps: KillWatchDeps): KillWatch {
  const { client, gateways, relay, log, timing = TIMING } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const seen = new Set<string>()
  let listedAt = Number.NEGATIVE_INFINITY
  const emergency = createEmergencyMaps({ ...deps, timing: timing.maps, signal })

  function offerGateway(gateway: GatewayObject): void {
    seen.add(keyOf(gateway))
    relay.offer(killSwitchOfGateway(gateway))
  }

  function gatewayChanged(key: string): void {
    const gateway = gateways.get(key)
    if (gateway !== undefined) offerGateway(gateway)
    else if (seen.delete(key))
      relay.offer(clearedKillSwitch(gatewaySource(key), gateways.resourceVersion() ?? '0'))
  }

  const heardMs = () => Math.min(gateways.stalenessMs(), performance.now() - listedAt)

  async function listGateways(): Promise<void> {
    if (!gateways.isBroken() && heardMs() < timing.silentMs) return
    const limits = { signal, timeoutMs: LIST_TIMEOUT_MS }
    const listed = await listCached<GatewayObject>(client, { path: pathOf(RESOURCES.Gateway) }, limits)
    listedAt = performance.now()
    // The API server answers from its cache. A list that is older than the watch contains no newer kill switch.
    if (isEarlier(listed.resourceVersion, gateways.resourceVersion())) return
    const present = new Set(listed.items.map(keyOf))
    for (const key of [...seen].filter((known) => !present.has(known))) {
      seen.delete(key)
      relay.offer(clearedKillSwitch(gatewaySource(key), listed.resourceVersion))
    }
    for (const gateway of listed.items) offerGateway(gateway)
  }

  async function check(): Promise<void> {
    const results = await Promise.allSettled([listGateways(), emergency.pollBroken()])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined && !signal.aborted)
      log.warn(
        { err: failed.reason },
        'kill switches of Gateways and emergency ConfigMaps could not be read from the API server, so a change may take effect late; retrying',
      )
  }

  /**
   * Runs the checks until the signal is aborted. A check makes no call unless a list is due or a ConfigMap is missing.
   */
  async function run(): Promise<void> {
    while (!signal.aborted) {
      await check()
      const governed = [...gateways.list(), ...deps.governedPods()].filter(isNotDeleting)
      emergency.supply(governed.map(({ metadata }) => metadata.namespace ?? ''))
      await sleep(timing.brokenMs, signal)
    }
  }

  const running = run()
  return {
    gatewayChanged,
    stalenessMs: () => Math.max(heardMs(), emergency.stalenessMs()),
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all([running, emergency.stop()])
    },
  }
}

/**
 * Excludes objects that are being deleted: their namespace may be terminating, and then no ConfigMap can be created in
 * it.
 */
const isNotDeleting = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined

/** Reports whether one resource version is earlier than another. Always false for versions that are not numbers. */
function isEarlier(version: string, than: string | null): boolean {
  return than !== null && Number(version) < Number(than)
}
