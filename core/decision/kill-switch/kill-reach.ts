import { fold } from '../../action/pattern.ts'

const OF_GATEWAY = 'manifest:'
const OF_NAMESPACE = 'configmap:'

/** The ConfigMap `chaperone-emergency` of the installation's own namespace, which stops anything. */
export const EMERGENCY_SOURCE = 'configmap'

/** `manifest:NAMESPACE/NAME`: the Gateway object, whose kill switch concerns that Gateway only. */
export function gatewaySource(gateway: string): string {
  return `${OF_GATEWAY}${gateway}`
}

/** `configmap:NAMESPACE`: the ConfigMap of a namespace, which stops the Gateways and the agents of that namespace. */
export function namespaceSource(namespace: string): string {
  return `${OF_NAMESPACE}${namespace}`
}

/** Whether entries of the source may concern a Gateway (`namespace/name`), through some agent at least. */
export function concernsGateway(source: string, gateway: string): boolean {
  return !source.startsWith(OF_GATEWAY) || source === gatewaySource(gateway)
}

/** The namespace whose ConfigMap the source is; null for every other source. */
export function namespaceOfSource(source: string): string | null {
  return source.startsWith(OF_NAMESPACE) ? source.slice(OF_NAMESPACE.length) : null
}

/** Whether what a source says may concern the subject at all, whatever its scope: no tenant's object stops another's. */
export function isWithinReach(
  source: string,
  { gateway, agent }: { readonly gateway: string; readonly agent: string | null },
): boolean {
  const namespace = namespaceOfSource(source)
  return namespace === null || [gateway, agent].some((name) => namespaceOf(name) === namespace)
}

/** Whether a ConfigMap says it, whichever. */
export function isConfigMapSource(source: string): boolean {
  return source === EMERGENCY_SOURCE || source.startsWith(OF_NAMESPACE)
}

/** The scope that stands for everything the source may stop. */
export function widestScope(source: string): string {
  if (source.startsWith(OF_GATEWAY)) return fold(`gateway:${source.slice(OF_GATEWAY.length)}`)
  if (source.startsWith(OF_NAMESPACE)) return fold(`namespace:${source.slice(OF_NAMESPACE.length)}`)
  return 'all'
}

/** Of `namespace/name`; empty for a name without one. */
export function namespaceOf(name: string | null): string {
  return name === null ? '' : name.slice(0, Math.max(0, name.indexOf('/')))
}
