import { ANNOTATIONS, LAYER_LABEL } from '../capture/pod-contract.ts'
import { hardenContainer } from './harden.ts'
import { PROXIED_LAYERS } from './interception.ts'
import type { Container, Pod } from './pod.ts'
import type { Refusal } from './refusals/refusal.ts'
import { refuseContainer } from './refusals/refuse-container.ts'
import { refuseSecurity } from './refusals/refuse-security.ts'
import { withClientVariables } from './variables.ts'
import { withTrustMount } from './volumes.ts'

export type EphemeralInjection =
  | { readonly kind: 'injected'; readonly pod: Pod }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] }

/**
 * Injects the new debug containers of a governed pod like its other containers, or returns every reason to refuse them.
 * Debug containers that `before` already has stay unchanged, because the API server forbids changes to them.
 */
export function injectEphemeral(before: Pod, pod: Pod): EphemeralInjection {
  const old = new Set((before.spec.ephemeralContainers ?? []).map(({ name }) => name))
  const proxyUid = Number(before.metadata.annotations?.[ANNOTATIONS.proxyUid])
  const layer = before.metadata.labels?.[LAYER_LABEL] ?? ''
  const interception = PROXIED_LAYERS.includes(layer) ? 'proxyEnv' : 'transparent'
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
