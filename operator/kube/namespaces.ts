import type { Labels, RequestingNamespace } from '../../core/crd/gateway/allowed-namespaces.ts'
import { type KubeObject, pathOf } from './objects.ts'
import { createReflector, type Reflector, type ReflectorDeps } from './reflector.ts'

const NAMESPACES = { base: '/api/v1', plural: 'namespaces' }

/** Informer cache of the names and labels of all namespaces. */
export type Namespaces = Pick<Reflector<KubeObject>, 'isSynced' | 'synced' | 'stop' | 'stalenessMs'> & {
  /** Returns the labels of a namespace; undefined for a namespace that is not in the cache. */
  labelsOf(name: string): Labels | undefined
  list(): ReadonlyArray<RequestingNamespace & { readonly labels: Labels }>
}

export function createNamespaces(
  deps: Omit<ReflectorDeps<KubeObject>, 'resource' | 'selection' | 'trim'>,
): Namespaces {
  const reflector = createReflector<KubeObject>({
    ...deps,
    resource: 'namespaces',
    selection: { path: pathOf(NAMESPACES) },
    trim: ({ metadata: { name, uid, resourceVersion, labels } }) => ({
      metadata: { name, uid, resourceVersion, ...(labels && { labels }) },
    }),
  })
  return {
    ...reflector,
    labelsOf: (name) => {
      const found = reflector.get(name)
      return found === undefined ? undefined : (found.metadata.labels ?? {})
    },
    list: () => reflector.list().map(({ metadata: { name, labels = {} } }) => ({ name, labels })),
  }
}
