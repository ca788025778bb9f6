import { fold } from '../../action/pattern.ts'

const OF_GATEWAY = 'manifest:'
const OF_NAMESPACE = 'configmap:'

/**
 * Source of the kill switches in the ConfigMap `chaperone-emergency` of the installation's namespace. These kill
 * switches may cover everything.
 */
export const EMERGENCY_SOURCE = 'configmap'

/** Returns the source `manifest:NAMESPACE/NAME` of a Gateway object. Its kill switch covers only that Gateway. */
export function gatewaySource(gateway: string): string {
  return `${OF_GATEWAY}${gateway}`
}

/**
 * Returns the source `configmap:NAMESPACE` for a ConfigMap in a tenant's namespace. Its kill switches cover only the
 * Gateways and agents of that namespace.
 */
export function namespaceSource(namespace: string): string {
  return `${OF_NAMESPACE}${namespace}`
}

/**
 * Reports whether a kill switch of the source may affect requests of any agent through this Gateway (`namespace/name`).
 */
export function concernsGateway(source: string, gateway: string): boolean {
  return !source.startsWith(OF_GATEWAY) || source === gatewaySource(gateway)
}

/** Returns the namespace of a ConfigMap source; null for every other source. */
export function namespaceOfSource(source: string): string | null {
  return source.startsWith(OF_NAMESPACE) ? source.slice(OF_NAMESPACE.length) : null
}

/**
 * Reports whether a kill switch of this source may affect the subject, whatever the scope of the kill switch. A
 * ConfigMap in a tenant's namespace affects only requests through a Gateway of that namespace, and requests of agents
 * of that namespace.
 */
export function isWithinReach(
  source: string,
  { gateway, agent }: { readonly gateway: string; readonly agent: string | null },
): boolean {
  const namespace = namespaceOfSource(source)
  return namespace === null || [gateway, agent].some((name) => namespaceOf(name) === namespace)
}

export function isConfigMapSource(source: string): boolean {
  return source === EMERGENCY_SOURCE || source.startsWith(OF_NAMESPACE)
}

/** Returns the widest scope that kill switches of the source may have. */
export function widestScope(source: string): string {
  if (source.startsWith(OF_GATEWAY)) return fold(`gateway:${source.slice(OF_GATEWAY.length)}`)
  if (source.startsWith(OF_NAMESPACE)) return fold(`namespace:${source.slice(OF_NAMESPACE.length)}`)
  return 'all'
}

/** Returns the namespace of `namespace/name`; an empty text for a name without a namespace. */
export function namespaceOf(name: string | null): string {
  return name === null ? '' : name.slice(0, Math.max(0, name.indexOf('/')))
}
