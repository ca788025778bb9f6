import type { Logger } from 'pino'
import { type RuntimeLookup, runtimeOf } from '../../core/inject/runtime.ts'
import type { KubeClient } from '../kube/client.ts'
import { type KubeObject, pathOf } from '../kube/objects.ts'
import { createReflector, type ReflectorMetrics } from '../kube/reflector.ts'

const RUNTIME_CLASSES = { base: '/apis/node.k8s.io/v1', plural: 'runtimeclasses' }

export type RuntimeClasses = RuntimeLookup & {
  readonly synced: Promise<void>
  isSynced(): boolean
  /** Returns the names of the RuntimeClasses of gVisor, in alphabetical order. */
  gvisor(): readonly string[]
  stop(): Promise<void>
}

type RuntimeClass = KubeObject & { readonly handler: string }

/** Opens the informer cache of RuntimeClasses, whose handlers identify the runtimes of pods. */
export function startRuntimeClasses(deps: {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  /** Called when a RuntimeClass was added, changed or deleted. */
  readonly onChange: () => void
}): RuntimeClasses {
  const cache = createReflector<RuntimeClass>({
    ...deps,
    resource: 'runtimeclasses',
    selection: { path: pathOf(RUNTIME_CLASSES) },
    trim(object) {
      const { name, uid, resourceVersion } = object.metadata
      return { metadata: { name, uid, resourceVersion }, handler: (object as RuntimeClass).handler }
    },
  })
  return {
    synced: cache.synced,
    isSynced: cache.isSynced,
    handlerOf: (name) => cache.get(name)?.handler,
    gvisor: () =>
      cache
        .list()
        .filter(({ handler }) => runtimeOf(handler) === 'gvisor')
        .map(({ metadata }) => metadata.name)
        .sort(),
    stop: cache.stop,
  }
}
