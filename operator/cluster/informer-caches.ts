import type { Logger } from 'pino'
import { INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import { type InjectedPod, injectedPod } from '../control/pod-metadata.ts'
import type { KubeClient } from '../kube/client.ts'
import { createNamespaces, type Namespaces } from '../kube/namespaces.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'
import {
  createReflector,
  type Reflector,
  type ReflectorMetrics,
  type ReflectorTiming,
} from '../kube/reflector.ts'
import { DEPENDENCY_ORDER } from '../reconcile/kind-order.ts'
import type { CustomResource, InformerCaches } from './custom-resources.ts'
import { type GovernedPod, governedPod } from './pods/governed-pods.ts'
import { createPodIndex, type PodIndex } from './pods/pod-index.ts'

/** Receives the keys of changed objects. */
export type InformerListener = {
  changed(kind: ResourceKind, key: string): void
  /** Called with the Gateways (`namespace/name`) whose facts about pods changed. */
  podsChanged(gateways: ReadonlySet<string>): void
  podMetadataChanged(key: string): void
}

/** Informer caches of all watched resources. Every replica has them, so that a new leader starts with filled caches. */
export type Informers = {
  readonly caches: InformerCaches
  readonly namespaces: Namespaces
  readonly pods: Pick<Reflector<GovernedPod>, 'synced' | 'isSynced'>
  /** Index of the governed pods. */
  readonly podIndex: PodIndex
  /** Metadata of the governed pods, from a watch of its own that receives no specs. */
  readonly podMetadata: Reflector<InjectedPod>
  readonly synced: Promise<void>
  listen(listener: InformerListener): void
  isSynced(): boolean
  /** Returns the seconds since the API server last sent data, by resource. */
  stalenessS(): ReadonlyMap<string, number>
  stop(): Promise<void>
}

export type InformersDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly timing?: ReflectorTiming | undefined
}

const INJECTED = { path: pathOf(RESOURCES.Pod), labelSelector: `${INJECT_LABEL}=injected` } as const

export function startInformers({ client, log, metrics, timing }: InformersDeps): Informers {
  let listener: InformerListener = { changed: () => {}, podsChanged: () => {}, podMetadataChanged: () => {} }
  const common = { client, log, metrics, ...(timing === undefined ? {} : { timing }) }
  const cacheOf = <K extends ResourceKind>(kind: K): Reflector<CustomResource<K>> =>
    createReflector<CustomResource<K>>({
      ...common,
      resource: RESOURCES[kind].plural,
      selection: { path: pathOf(RESOURCES[kind]) },
      onChange: (key) => listener.changed(kind, key),
    })
  const caches: InformerCaches = {
    Gateway: cacheOf('Gateway'),
    Connector: cacheOf('Connector'),
    Permission: cacheOf('Permission'),
    Policy: cacheOf('Policy'),
  }
  const namespaces = createNamespaces({ ...common, onChange: () => undefined })
  const podIndex = createPodIndex()
  const pods: Reflector<GovernedPod> = createReflector({
    ...common,
    resource: 'pods',
    selection: INJECTED,
    onChange(key) {
      const changed = podIndex.set(key, pods.get(key))
      if (changed.size > 0) listener.podsChanged(changed)
    },
    trim: governedPod,
  })
  const podMetadata = createReflector<InjectedPod>({
    ...common,
    resource: 'pod metadata',
    selection: { ...INJECTED, metadataOnly: true },
    onChange: (key) => listener.podMetadataChanged(key),
    trim: injectedPod,
  })
  const listen = (next: InformerListener) => {
    listener = next
  }
  const all = new Map<string, AnyReflector>([
    ...DEPENDENCY_ORDER.map((kind) => [RESOURCES[kind].plural, caches[kind]] as const),
    ['namespaces', namespaces],
    ['pods', pods],
    ['pod metadata', podMetadata],
  ])
  return { caches, namespaces, pods, podIndex, podMetadata, listen, ...combined(all) }
}

type AnyReflector = Pick<Reflector<KubeObject>, 'synced' | 'isSynced' | 'stalenessMs' | 'stop'>

function combined(
  all: ReadonlyMap<string, AnyReflector>,
): Pick<Informers, 'synced' | 'isSynced' | 'stalenessS' | 'stop'> {
  const reflectors = [...all.values()]
  return {
    synced: Promise.all(reflectors.map(({ synced }) => synced)).then(() => undefined),
    isSynced: () => reflectors.every((each) => each.isSynced()),
    stalenessS: () => new Map([...all].map(([name, each]) => [name, each.stalenessMs() / 1_000])),
    async stop() {
      await Promise.all(reflectors.map((each) => each.stop()))
    },
  }
}
