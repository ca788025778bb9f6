import { ANNOTATIONS, LAYER_LABEL } from '../capture/pod-contract.ts'
import { hardenContainer } from './harden.ts'
import type { Container, Pod } from './pod.ts'
import type { Refusal } from './refusal.ts'
import { refuseContainer } from './refuse-container.ts'
import { refuseSecurity } from './refuse-security.ts'
import { withClientVariables } from './variables.ts'
import { withTrustMount } from './volumes.ts'

export type EphemeralInjection =
  | { readonly kind: 'injected'; readonly pod: Pod }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] }

/**
 * A governed pod to which debug containers are being added: they get what the pod's own containers got, or every
 * reason why they may not run there. Those that `before` has are left as they are; the API server lets nobody
 * change them.
 */
export function injectEphemeral(before: Pod, pod: Pod): EphemeralInjection {
  const old = new Set((before.spec.ephemeralContainers ?? []).map(({ name }) => name))
  const proxyUid = Number(before.metadata.annotations?.[ANNOTATIONS.proxyUid])
  const interception = before.metadata.labels?.[LAYER_LABEL] === 'Cooperative' ? 'proxyEnv' : 'transparent'
  const all = pod.spec.ephemeralContainers ?? []
  const refusals = [
    ...refuseSecurity(pod.spec.securityContext, 'spec.securityContext', proxyUid),
    ...all.flatMap((container, at) =>
      old.has(container.name) ? [] : refuseContainer(container, `spec.ephemeralContainers[${at}]`, proxyUid),
    ),
  ]
  if (refusals.length > 0) return { kind: 'refused', refusals }
  const change = (container: Container) =>
    withTrustMount(withClientVariables(hardenContainer(container), interception))
  const ephemeralContainers = all.map((container) =>
    old.has(container.name) ? container : change(container),
  )
  return { kind: 'injected', pod: { ...pod, spec: { ...pod.spec, ephemeralContainers } } }
}
