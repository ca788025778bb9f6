import type { ConnectorSpec } from '../../core/crd/connector-spec.ts'
import type { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import type { PolicySpec } from '../../core/crd/policy/policy-spec.ts'
import type { PermissionSpec, ResourceKind } from '../../core/crd/schemas.ts'
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

/** A custom resource from the API server, which has validated it against the CRD and set its defaults. */
export type CustomResource<K extends ResourceKind = ResourceKind> = KubeObject & {
  readonly spec: Specs[K]
  readonly status?: Statuses[K]
}

export type ResourceStatus = Statuses[ResourceKind]

export type InformerCaches = { readonly [K in ResourceKind]: Reflector<CustomResource<K>> }

/** Returns the key of an object in the work queues: `Kind/namespace/name`. */
export function queueKey(kind: ResourceKind, key: string): string {
  return `${kind}/${key}`
}

export function splitQueueKey(key: string): { kind: ResourceKind; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/')
  return { kind: kind as ResourceKind, namespace, name }
}
