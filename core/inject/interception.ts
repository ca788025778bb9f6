import type { InjectGateway } from './options.ts'
import { type Refusal, refusal } from './refusals/refusal.ts'
import type { Runtime } from './runtime.ts'

/**
 * How the traffic of a pod reaches its sidecar. The setting `auto` of a Gateway is resolved to one of these values for
 * each pod.
 */
export type Interception = 'transparent' | 'proxyEnv'

/**
 * Values of the label `chaperone.dev/layer`: how the injector connects a pod to its sidecar. The label does not state
 * whether the capture of a transparent pod works. The sidecar proves the capture later, and the status of the Gateway
 * shows the result.
 */
export const LAYERS = {
  transparent: 'Transparent',
  proxyEnv: 'Cooperative',
  isolated: 'IsolatedByNetworkPolicy',
} as const
export type Layer = (typeof LAYERS)[keyof typeof LAYERS]
/** Layers of pods with `proxyEnv`, which have no capture rules. */
export const PROXIED_LAYERS: readonly string[] = [LAYERS.proxyEnv, LAYERS.isolated]

/**
 * State of the NetworkPolicy around pods with `proxyEnv` in the namespace of a pod. `off`: the installation has none.
 * `pending`: the policy is not stored in this namespace yet.
 */
export type Isolation = 'off' | 'pending' | 'stored'

export type ResolvedInterception =
  | {
      readonly kind: 'resolved'
      readonly interception: Interception
      readonly layer: Layer
      /** Sentence about the choice of `auto`; null where the Gateway names the interception. */
      readonly choice: string | null
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

export type PodRuntime = { readonly runtime: Runtime | undefined; readonly isolation: Isolation }

/**
 * Resolves the interception of a pod. With `auto`, a pod whose runtime has a Linux kernel is captured. Under gVisor
 * only the node decides whether a capture is possible, so `proxyEnv` is chosen if a NetworkPolicy isolates the pod or
 * the Gateway allows `proxyEnv`. In all other cases, and with `hardening: strict`, a pod under gVisor is refused.
 */
export function resolveInterception(
  { interception, hardening, autoAllows }: InjectGateway['spec'],
  { runtime, isolation }: PodRuntime,
): ResolvedInterception {
  const proxied = isolation === 'stored' ? LAYERS.isolated : LAYERS.proxyEnv
  if (interception === 'proxyEnv') return chosen('proxyEnv', proxied, null)
  if (interception === 'transparent') return chosen('transparent', LAYERS.transparent, null)
  if (runtime === undefined)
    return chosen(
      'transparent',
      LAYERS.transparent,
      'interception auto chose transparent: the runtime has a Linux kernel',
    )
  if (hardening === 'strict') return refused('spec.hardening strict does not allow proxyEnv')
  if (isolation === 'stored')
    return chosen(
      'proxyEnv',
      LAYERS.isolated,
      'interception auto chose proxyEnv, because the pod runs under gVisor: NetworkPolicy chaperone-proxy-env isolates the pod, so a program that ignores its proxy variables can reach only the addresses that the sidecar can reach',
    )
  if (autoAllows?.includes('proxyEnv') === true)
    return chosen(
      'proxyEnv',
      LAYERS.proxyEnv,
      'interception auto chose proxyEnv, because the pod runs under gVisor and spec.autoAllows of the Gateway has proxyEnv: a program that ignores its proxy variables is not governed',
    )
  if (isolation === 'pending')
    return {
      kind: 'refused',
      refusal: refusal(
        FIELD,
        'interception auto needs NetworkPolicy chaperone-proxy-env for a pod under gVisor, and the operator has not stored it in this namespace yet',
        'create the pod again in a few seconds; if the problem remains, see the log of the operator',
      ),
    }
  return refused(
    'the installation has no NetworkPolicy for proxyEnv, and spec.autoAllows of the Gateway is empty',
  )
}

const FIELD = 'spec.runtimeClassName'

function chosen(interception: Interception, layer: Layer, choice: string | null): ResolvedInterception {
  return { kind: 'resolved', interception, layer, choice }
}

function refused(reason: string): ResolvedInterception {
  return {
    kind: 'refused',
    refusal: refusal(
      FIELD,
      `the pod runs under gVisor, where interception auto would choose proxyEnv, but ${reason}`,
      'set spec.interception of the Gateway to transparent where the nodes have net-raw = "true" in runsc.toml; or, with spec.hardening standard, enable networkPolicy.proxyEnv of the chart or set spec.autoAllows: [proxyEnv]; or remove the RuntimeClass',
    ),
  }
}
