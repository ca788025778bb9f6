import type {
  ConnectorSpec,
  GatewaySpec,
  PermissionSpec,
  PolicySpec,
  ResourceKind,
} from '../../core/crd/schemas.ts'
import type { ConnectorStatus, GatewayStatus, PermissionStatus, PolicyStatus } from '../../core/crd/status.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Reflector } from '../kube/reflector.ts'

type Specs = {
  Gateway: GatewaySpec
  Connector: ConnectorSpec
  Permission: PermissionSpec
  Policy: PolicySpec
}
type Statuses = {
  Gateway: GatewayStatus
  Connector: ConnectorStatus
  Permission: PermissionStatus
  Policy: PolicyStatus
}

/** As the API server gives it: its schema was checked there, and its defaults filled in. */
export type OurObject<K extends ResourceKind = ResourceKind> = KubeObject & {
  readonly spec: Specs[K]
  readonly status?: Statuses[K]
}

export type OurStatus = Statuses[ResourceKind]

/** Gateways first, because everything else names them. */
export const KINDS = [
  'Gateway',
  'Connector',
  'Permission',
  'Policy',
] as const satisfies readonly ResourceKind[]

export type Caches = { readonly [K in ResourceKind]: Reflector<OurObject<K>> }

/** `Kind/namespace/name`. */
export function queueKey(kind: ResourceKind, key: string): string {
  return `${kind}/${key}`
}

export function splitQueueKey(key: string): { kind: ResourceKind; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/')
  return { kind: kind as ResourceKind, namespace, name }
}
