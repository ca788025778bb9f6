import type { Logger } from 'pino'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { listPages } from '../kube/list-pages.ts'
import { keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type Reflector, type ReflectorMetrics } from '../kube/reflector.ts'
import { sleep } from '../kube/sleep.ts'
import type { KillRelay } from './kill-relay.ts'
import {
  type ConfigMapObject,
  type GatewayObject,
  stopOfConfigMap,
  stopOfGateway,
  stopOfNothing,
} from './stops.ts'

/** Everything in the cluster that can stop agents: watched, and looked at every two seconds besides. */
export type KillWatch = AsyncDisposable & {
  /** To be called when the copy of Gateways changed. */
  gatewayChanged(key: string): void
  /** Milliseconds since both were last read without the help of a watch. */
  stalenessMs(): number
}

export type KillWatchDeps = {
  readonly client: KubeClient
  readonly gateways: Pick<Reflector<GatewayObject>, 'get' | 'resourceVersion'>
  readonly relay: Pick<KillRelay, 'offer'>
  readonly namespace: string
  readonly emergencyName: string
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly pollMs?: number
}

const POLL_MS = 2_000

export function createKillWatch(deps: KillWatchDeps): KillWatch {
  const { client, gateways, relay, namespace, emergencyName, log, metrics, pollMs = POLL_MS } = deps
  const stopped = new AbortController()
  const { signal } = stopped
  const seen = new Set<string>()
  let readAt = Number.NEGATIVE_INFINITY
  let toldProblems = ''
  const emergency = createReflector<ConfigMapObject>({
    ...{ client, log, metrics, resource: 'emergency' },
    selection: {
      path: pathOf(RESOURCES.ConfigMap, namespace),
      fieldSelector: `metadata.name=${emergencyName}`,
    },
    onChange: (key) => offerEmergency(emergency.get(key)),
  })

  /** What is not there says nothing: a stop is lifted by saying so, not by losing the object that demands it. */
  function offerEmergency(map: ConfigMapObject | undefined): void {
    if (map === undefined) return
    const { problems, ...stop } = stopOfConfigMap(map)
    relay.offer(stop)
    const text = problems.join('; ')
    if (text !== '' && text !== toldProblems) log.error({ configmap: keyOf(map) }, `emergency: ${text}`)
    toldProblems = text
  }

  function offerGateway(gateway: GatewayObject): void {
    seen.add(keyOf(gateway))
    relay.offer(stopOfGateway(gateway))
  }

  function gatewayChanged(key: string): void {
    const gateway = gateways.get(key)
    if (gateway !== undefined) offerGateway(gateway)
    else if (seen.delete(key))
      relay.offer(stopOfNothing(`manifest:${key}`, gateways.resourceVersion() ?? '0'))
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
      relay.offer(stopOfNothing(`manifest:${key}`, resourceVersion))
    }
    for (const gateway of items) offerGateway(gateway)
  }

  async function pollEmergency(): Promise<void> {
    try {
      const path = pathOf(RESOURCES.ConfigMap, namespace, emergencyName)
      offerEmergency(await client.call<ConfigMapObject>({ method: 'GET', path, signal, timeoutMs: 5_000 }))
    } catch (error) {
      if (!hasCode(error, 'not_found')) throw error
    }
  }

  async function poll(): Promise<void> {
    const results = await Promise.allSettled([pollGateways(), pollEmergency()])
    const failed = results.find((result) => result.status === 'rejected')
    if (failed === undefined) readAt = performance.now()
    else if (!signal.aborted) log.warn({ err: failed.reason }, 'stops could not be read, trying again')
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await poll()
      await sleep(pollMs, signal)
    }
  }

  const running = run()
  return {
    gatewayChanged,
    stalenessMs: () => performance.now() - readAt,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all([running, emergency.stop()])
    },
  }
}
