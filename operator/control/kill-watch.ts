import type { Logger } from 'pino'
import { gatewaySource } from '../../core/decision/kill-switch/kill-reach.ts'
import type { KubeClient } from '../kube/client.ts'
import { listPages } from '../kube/list-pages.ts'
import { type KubeObject, keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import type { Reflector, ReflectorMetrics } from '../kube/reflector.ts'
import { sleep } from '../kube/sleep.ts'
import { createEmergencyMaps } from './emergency-maps.ts'
import type { KillRelay } from './kill-relay.ts'
import { clearedKillSwitch, type GatewayObject, killSwitchOfGateway } from './kill-switches.ts'

/** Reads the kill switches of the cluster, from Gateways and emergency ConfigMaps, by watches and by a poll every 2 s. */
export type KillWatch = AsyncDisposable & {
  /** Called when a Gateway changed in its informer cache. */
  gatewayChanged(key: string): void
  /** Milliseconds since the last complete poll. */
  stalenessMs(): number
}

export type KillWatchDeps = {
  readonly client: KubeClient
  readonly gateways: Pick<Reflector<GatewayObject>, 'get' | 'list' | 'resourceVersion'>
  readonly relay: Pick<KillRelay, 'offer'>
  /** Namespace of the installation. */
  readonly namespace: string
  /** Pods whose namespaces get an emergency ConfigMap. */
  readonly governedPods: () => readonly KubeObject[]
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly pollMs?: number
}

const POLL_MS = 2_000

export function createKillWatch(deps: KillWatchDeps): KillWatch {
  const { client, gateways, relay, log, pollMs = POLL_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const seen = new Set<string>()
  let polledAt = Number.NEGATIVE_INFINITY
  const emergency = createEmergencyMaps({ ...deps, signal })

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

  async function pollGateways(): Promise<void> {
    const { items, resourceVersion } = await listPages<GatewayObject>(
      client,
      { path: pathOf(RESOURCES.Gateway) },
      signal,
    )
    const present = new Set(items.map(keyOf))
    for (const key of [...seen].filter((known) => !present.has(known))) {
      seen.delete(key)
      relay.offer(clearedKillSwitch(gatewaySource(key), resourceVersion))
    }
    for (const gateway of items) offerGateway(gateway)
  }

  async function poll(): Promise<void> {
    const results = await Promise.allSettled([pollGateways(), emergency.poll()])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) polledAt = performance.now()
    else if (!signal.aborted) log.warn({ err: failed.reason }, 'kill switches not read, retrying')
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await poll()
      const governed = [...gateways.list(), ...deps.governedPods()].filter(isNotDeleting)
      emergency.supply(governed.map(({ metadata }) => metadata.namespace ?? ''))
      await sleep(pollMs, signal)
    }
  }

  const running = run()
  return {
    gatewayChanged,
    stalenessMs: () => performance.now() - polledAt,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all([running, emergency.stop()])
    },
  }
}

/** Excludes namespaces that are being deleted, because no ConfigMap can be created in them. */
const isNotDeleting = ({ metadata }: KubeObject) => metadata.deletionTimestamp === undefined
