import { ANNOTATIONS, INJECT_LABEL } from '../capture/pod-contract.ts'
import { admits, type RequestingNamespace } from '../crd/gateway/allowed-namespaces.ts'
import type { InjectGateway } from './options.ts'
import type { Pod } from './pod.ts'
import { annotationField, type Refusal, refusal } from './refusals/refusal.ts'

/** Finds Gateways in the informer cache. */
export type GatewayLookup = {
  readonly gatewayOf: (namespace: string, name: string) => InjectGateway | undefined
  readonly gatewaysIn: (namespace: string) => readonly InjectGateway[]
}

export type Governance =
  | { readonly kind: 'none' }
  | { readonly kind: 'governed'; readonly gateway: InjectGateway }
  | { readonly kind: 'refused'; readonly refusals: readonly [Refusal] }

export type PodNamespace = RequestingNamespace & {
  /** True if the namespace has the label `chaperone.dev/inject: required`. */
  readonly isRequired: boolean
}

/**
 * Returns whether a pod is governed, and by which Gateway. The annotation of the pod names the Gateway (`NAME` or
 * `NAMESPACE/NAME`). Pods of a namespace with the label value `required` cannot opt out; without the annotation, the
 * only Gateway of their namespace governs them.
 */
export function governance(pod: Pod, namespace: PodNamespace, lookup: GatewayLookup): Governance {
  const named = pod.metadata.annotations?.[ANNOTATIONS.gateway]
  if (named !== undefined && named !== '') return namedGateway(named, namespace, lookup)
  if (namespace.isRequired) return onlyGateway(namespace.name, lookup)
  return { kind: 'none' }
}

/**
 * Reports whether agents of the namespace may use the Gateway: the namespace is the Gateway's own, or the Gateway
 * admits it.
 */
function mayUse(gateway: InjectGateway, namespace: RequestingNamespace): boolean {
  return admits({ namespace: gateway.namespace, allowed: gateway.spec.allowedNamespaces?.agents }, namespace)
}

function namedGateway(named: string, asking: RequestingNamespace, { gatewayOf }: GatewayLookup): Governance {
  const { name: namespace } = asking
  const [first = '', second, ...rest] = named.split('/')
  const wanted = second === undefined ? { namespace, name: first } : { namespace: first, name: second }
  const gateway = rest.length > 0 ? undefined : gatewayOf(wanted.namespace, wanted.name)
  // A missing Gateway and a forbidden one cause the same refusal, so that the refusal does not reveal the Gateways of
  // other namespaces.
  if (gateway !== undefined && mayUse(gateway, asking)) return { kind: 'governed', gateway }
  const place = wanted.namespace === namespace ? `in namespace ${namespace}` : `for agents of ${namespace}`
  return refused(
    `${JSON.stringify(named)} is not a Gateway ${place}`,
    wanted.namespace === namespace
      ? `create a Gateway named ${wanted.name}, or name an existing Gateway`
      : `admit ${namespace} in its spec.allowedNamespaces.agents, or name a Gateway of ${namespace}`,
  )
}

function onlyGateway(namespace: string, { gatewaysIn }: GatewayLookup): Governance {
  const [gateway, ...others] = gatewaysIn(namespace)
  if (gateway === undefined)
    return refused(
      `the namespace ${namespace} is labelled ${INJECT_LABEL}=required and has no Gateway`,
      'create a Gateway there, or name a Gateway of another namespace that admits this namespace',
    )
  if (others.length === 0) return { kind: 'governed', gateway }
  const names = [gateway, ...others].map(({ name }) => name).join(', ')
  return refused(
    `the namespace ${namespace} is labelled ${INJECT_LABEL}=required and has several Gateways`,
    `name one of ${names}`,
  )
}

function refused(problem: string, change: string): Governance {
  return { kind: 'refused', refusals: [refusal(annotationField(ANNOTATIONS.gateway), problem, change)] }
}
