/** The fields that all Kubernetes objects have in common. */
export type KubeObject = {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

export type ObjectMeta = {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  /** Time of creation (RFC 3339), in whole seconds. */
  readonly creationTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  /** Time of the deletion request (RFC 3339); present while the object is being deleted. */
  readonly deletionTimestamp?: string
  readonly ownerReferences?: ReadonlyArray<{
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
    readonly controller?: boolean
  }>
}

/** Returns the key of an object: `namespace/name`, or the name of a cluster-scoped object. */
export function keyOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

/** Splits a key into namespace and name; the inverse of `keyOf`. */
export function splitKey(key: string): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf('/')
  return { namespace: slash < 0 ? '' : key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Path of a resource in the API. `base` is `/apis/GROUP/VERSION` or `/api/v1`. */
export type ResourcePath = { readonly base: string; readonly plural: string }

export function pathOf({ base, plural }: ResourcePath, namespace?: string, name?: string): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${base}${scope}/${plural}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`
}

const OURS = '/apis/chaperone.dev/v1alpha1'

export const RESOURCES = {
  Gateway: { base: OURS, plural: 'gateways' },
  Connector: { base: OURS, plural: 'connectors' },
  Permission: { base: OURS, plural: 'permissions' },
  Policy: { base: OURS, plural: 'policies' },
  Pod: { base: '/api/v1', plural: 'pods' },
  Secret: { base: '/api/v1', plural: 'secrets' },
  ConfigMap: { base: '/api/v1', plural: 'configmaps' },
  Lease: { base: '/apis/coordination.k8s.io/v1', plural: 'leases' },
  Event: { base: '/apis/events.k8s.io/v1', plural: 'events' },
} as const satisfies Record<string, ResourcePath>
