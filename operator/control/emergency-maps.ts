import type { Logger } from 'pino'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { listPages } from '../kube/list-pages.ts'
import { keyOf, pathOf, RESOURCES } from '../kube/objects.ts'
import { createReflector, type ReflectorMetrics } from '../kube/reflector.ts'
import type { KillRelay } from './kill-relay.ts'
import { type ConfigMapObject, killSwitchOfConfigMap } from './kill-switches.ts'

/** In every namespace with a Gateway or a governed agent, and in the installation's own. */
export const EMERGENCY_NAME = 'chaperone-emergency'

/** The emergency ConfigMaps of all namespaces: what they say is relayed, and where one is missing an empty one is made. */
export type EmergencyMaps = {
  /** Reads all of them. Rejects when they cannot be read. */
  poll(): Promise<void>
  /** Makes those of these namespaces that are missing, in the background. */
  supply(namespaces: readonly string[]): void
  stop(): Promise<void>
}

export type EmergencyMapsDeps = {
  readonly client: KubeClient
  readonly relay: Pick<KillRelay, 'offer'>
  /** Of the installation. */
  readonly namespace: string
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly signal: AbortSignal
}

const SELECTION = {
  path: pathOf(RESOURCES.ConfigMap),
  fieldSelector: `metadata.name=${EMERGENCY_NAME}`,
} as const

export function createEmergencyMaps(deps: EmergencyMapsDeps): EmergencyMaps {
  const { client, relay, namespace: own, log, metrics, signal } = deps
  const told = new Map<string, string>()
  let supplying: Promise<void> | null = null
  const maps = createReflector<ConfigMapObject>({
    ...{ client, log, metrics, resource: 'emergency', selection: SELECTION },
    onChange: (key) => offer(maps.get(key)),
  })

  /** What is not there says nothing: a stop is lifted by saying so, not by losing the object that demands it. */
  function offer(map: ConfigMapObject | undefined): void {
    const said = map === undefined ? null : killSwitchOfConfigMap(map, own)
    if (map === undefined || said === null) return
    const { problems, ...stop } = said
    relay.offer(stop)
    const text = problems.join('; ')
    if (text !== '' && text !== told.get(stop.source))
      log.error({ configmap: keyOf(map) }, `emergency: ${text}`)
    told.set(stop.source, text)
  }

  async function make(namespaces: readonly string[]): Promise<void> {
    for (const namespace of namespaces) {
      try {
        await makeEmpty(client, namespace, signal)
      } catch (error) {
        // A namespace that is being deleted takes its ConfigMaps along.
        if (signal.aborted || hasCode(error, 'not_found')) continue
        log.warn({ err: error, namespace }, `ConfigMap ${EMERGENCY_NAME} could not be made`)
      }
    }
  }

  return {
    async poll() {
      for (const map of (await listPages<ConfigMapObject>(client, SELECTION, signal)).items) offer(map)
    },
    supply(namespaces) {
      if (!maps.isSynced() || supplying !== null) return
      const isMissing = (namespace: string) => maps.get(`${namespace}/${EMERGENCY_NAME}`) === undefined
      supplying = make([...new Set([own, ...namespaces])].filter(isMissing)).finally(() => {
        supplying = null
      })
    },
    async stop() {
      await Promise.all([maps.stop(), supplying])
    },
  }
}

/** Its `data` is nobody's until a person writes it: neither this operator nor a GitOps tool takes a stop back. */
async function makeEmpty(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  await client.call({
    method: 'PATCH',
    path: pathOf(RESOURCES.ConfigMap, namespace, EMERGENCY_NAME),
    query: { fieldManager: FIELD_MANAGER, force: true },
    contentType: 'application/apply-patch+yaml',
    body: {
      ...{ apiVersion: 'v1', kind: 'ConfigMap' },
      metadata: { name: EMERGENCY_NAME, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
    },
    signal,
    timeoutMs: 5_000,
  })
}
