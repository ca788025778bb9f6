import type { Logger } from 'pino'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { listCached } from '../kube/list-pages.ts'
import { keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type ReflectorMetrics, type ReflectorTiming } from '../kube/reflector.ts'
import type { KillRelay } from './kill-relay.ts'
import { type ConfigMapObject, killSwitchOfConfigMap } from './kill-switches.ts'

/**
 * Name of the emergency ConfigMap, by which users can activate a kill switch without the control plane. Every
 * namespace with a Gateway or a governed agent has one, and so does the installation's namespace.
 */
const EMERGENCY_NAME = 'chaperone-emergency'

/**
 * Relays the emergency ConfigMaps of all namespaces, and creates an empty ConfigMap in a namespace that lacks
 * one.
 */
export type EmergencyMaps = {
  /** Reads all emergency ConfigMaps while the watch is broken. Rejects when the list fails. */
  pollBroken(): Promise<void>
  /** Returns the milliseconds since the API server last sent data about emergency ConfigMaps. */
  stalenessMs(): number
  /** Creates the emergency ConfigMaps that are missing in these namespaces, in the background. */
  supply(namespaces: readonly string[]): void
  stop(): Promise<void>
}

export type EmergencyMapsDeps = {
  readonly client: KubeClient
  readonly relay: Pick<KillRelay, 'offer'>
  /** Namespace of the installation. */
  readonly namespace: string
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly signal: AbortSignal
  readonly timing?: ReflectorTiming | undefined
}

/**
 * The API server ends this watch after a few seconds, so a connection without data for `idleMs` is half-open. A
 * half-open connection delays a kill switch by `idleMs` and the time of one list at most. No polls are therefore needed
 * while the watch is silent.
 */
const WATCH_TIMING: ReflectorTiming = { watchS: [4, 6], idleMs: 8_000, minMs: 800, maxMs: 30_000 }
const POLL_TIMEOUT_MS = 10_000

const SELECTION = {
  path: pathOf(RESOURCES.ConfigMap),
  fieldSelector: `metadata.name=${EMERGENCY_NAME}`,
} as const

export function createEmergencyMaps(deps: EmergencyMapsDeps): EmergencyMaps {
  const { client, relay, namespace: own, log, metrics, signal, timing = WATCH_TIMING } = deps
  /** Problems that are already logged, by source of the kill switch. */
  const logged = new Map<string, string>()
  let polledAt = Number.NEGATIVE_INFINITY
  let supplying: Promise<void> | null = null
  const maps = createReflector<ConfigMapObject>({
    client,
    log,
    metrics,
    resource: 'emergency',
    selection: SELECTION,
    timing,
    onChange: (key) => offer(maps.get(key)),
  })

  /**
   * Relays the kill switch of a ConfigMap. A missing ConfigMap changes nothing: only the field `active` of an existing
   * ConfigMap lifts a kill switch.
   */
  function offer(map: ConfigMapObject | undefined): void {
    const read = map === undefined ? null : killSwitchOfConfigMap(map, own)
    if (map === undefined || read === null) return
    const { problems, ...killSwitch } = read
    relay.offer(killSwitch)
    const text = problems.join('; ')
    if (text !== '' && text !== logged.get(killSwitch.source))
      log.error({ configmap: keyOf(map) }, `emergency ConfigMap: ${text}`)
    logged.set(killSwitch.source, text)
  }

  async function createMissing(namespaces: readonly string[]): Promise<void> {
    for (const namespace of namespaces) {
      try {
        await createEmpty(client, namespace, signal)
      } catch (error) {
        // This failure is expected when the namespace was deleted or the operator is stopping.
        if (signal.aborted || hasCode(error, 'not_found')) continue
        log.warn(
          { err: error, namespace },
          'emergency ConfigMap chaperone-emergency could not be created, so it cannot activate a kill switch in this namespace yet; retrying',
        )
      }
    }
  }

  return {
    async pollBroken() {
      if (!maps.isBroken()) return
      const limits = { signal, timeoutMs: POLL_TIMEOUT_MS }
      for (const map of (await listCached<ConfigMapObject>(client, SELECTION, limits)).items) offer(map)
      polledAt = performance.now()
    },
    stalenessMs: () => Math.min(maps.stalenessMs(), performance.now() - polledAt),
    supply(namespaces) {
      if (!maps.isSynced() || supplying !== null) return
      const isMissing = (namespace: string) => maps.get(`${namespace}/${EMERGENCY_NAME}`) === undefined
      supplying = createMissing([...new Set([own, ...namespaces])].filter(isMissing)).finally(() => {
        supplying = null
      })
    },
    async stop() {
      await Promise.all([maps.stop(), supplying])
    },
  }
}

/**
 * Creates a ConfigMap without `data`. Neither the operator nor a GitOps tool then owns that field, so neither reverts a
 * kill switch of a user.
 */
async function createEmpty(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  await client.call({
    method: 'PATCH',
    path: pathOf(RESOURCES.ConfigMap, namespace, EMERGENCY_NAME),
    query: { fieldManager: FIELD_MANAGER, force: true },
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: EMERGENCY_NAME, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    },
    signal,
    timeoutMs: 5_000,
  })
}
