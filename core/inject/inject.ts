import { ANNOTATIONS, INBOUND_LABEL, INJECT_LABEL, LAYER_LABEL, PROXY_UIDS } from '../capture/pod-contract.ts'
import { agentName } from './agent-name.ts'
import { hardenPod, keepsApiToken, seccompProfileOf, withoutApiToken } from './harden.ts'
import {
  type Interception,
  type Layer,
  type ResolvedInterception,
  resolveInterception,
} from './interception.ts'
import { outsideMeshes } from './mesh.ts'
import type { InjectGateway, InjectOptions } from './options.ts'
import type { Pod } from './pod.ts'
import type { Refusal } from './refusals/refusal.ts'
import { refusePod } from './refusals/refuse-pod.ts'
import { everyContainer, mapContainers, RESERVED_CONTAINERS, RESERVED_VOLUMES } from './refusals/reserved.ts'
import { setuidNeeds, setuidWarning } from './setuid.ts'
import { sidecarContainers } from './sidecar.ts'
import { variableWarnings, withClientVariables } from './variables.ts'
import { sidecarVolumes, withTrustMount } from './volumes.ts'

export type Injection =
  | {
      readonly kind: 'injected'
      readonly pod: Pod
      /**
       * Sentences for the user who applied the pod: about variables that the injector replaced or removed, about
       * programs that fail in a governed pod, and about the choice of `proxyEnv`.
       */
      readonly warnings: readonly string[]
      /**
       * Sentence about the interception that `interception: auto` chose; null if the Gateway names the interception.
       */
      readonly choice: string | null
    }
  | { readonly kind: 'refused'; readonly refusals: readonly Refusal[] }

/**
 * Injects the sidecar and its settings into a pod, or returns every reason to refuse the pod. Sets unset security
 * fields, and refuses settings that contradict governance. A second injection of the result changes nothing.
 */
export function inject(given: Pod, gateway: InjectGateway, options: InjectOptions): Injection {
  const pod = withoutSidecar(given)
  const proxyUid = keptUid(given, options) ?? freeUid(pod, options.freshUid)
  const keepsToken = keepsApiToken(pod, gateway.spec.agents?.allowServiceAccountToken === true)
  const bare = keepsToken ? pod : withoutApiToken(pod)
  const way = resolveInterception(gateway.spec, {
    runtime: options.runtime,
    isolation: options.isolation ?? 'off',
  })
  const refusals = refusePod(bare, gateway, proxyUid)
  if (way.kind === 'refused') return { kind: 'refused', refusals: [...refusals, way.refusal] }
  if (refusals.length > 0) return { kind: 'refused', refusals }
  const agent = options.identity?.agent ?? agentName(given.metadata)
  const workload = options.identity?.workload
  const { interception, layer, choice } = way
  const governed = mapContainers(
    hardenPod(bare, seccompProfileOf(gateway.spec.agents?.seccompProfile)),
    (container) => withTrustMount(withClientVariables(container, interception)),
  )
  return {
    kind: 'injected',
    pod: {
      ...governed,
      metadata: markedMetadata(given, {
        gateway,
        interception,
        layer,
        agent,
        workload,
        proxyUid,
        needs: setuidNeeds(bare),
      }),
      spec: {
        ...governed.spec,
        initContainers: [
          ...sidecarContainers({ gateway, interception, agent, proxyUid, options }),
          ...(governed.spec.initContainers ?? []),
        ],
        volumes: [...(governed.spec.volumes ?? []), ...sidecarVolumes(gateway, options)],
        ...withPullSecrets(governed, options.images.pullSecrets ?? []),
      },
    },
    warnings: warningsOf(bare, way),
    choice,
  }
}

/**
 * Reports whether the pod has the annotation of an injector. The annotation proves nothing, because authors can forge
 * it.
 */
function isMarked({ metadata }: Pod): boolean {
  return metadata.annotations?.[ANNOTATIONS.injected] !== undefined
}

/**
 * Returns the pod as its author wrote it, so that a second injection gives the same result. Only a pod with the
 * injected annotation is changed. In any other pod the product's names are reserved, and the injector refuses them.
 */
function withoutSidecar(pod: Pod): Pod {
  if (!isMarked(pod)) return pod
  const { initContainers, volumes } = pod.spec
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers && {
        initContainers: initContainers.filter(({ name }) => !RESERVED_CONTAINERS.has(name)),
      }),
      ...(volumes && { volumes: volumes.filter(({ name }) => !RESERVED_VOLUMES.has(name)) }),
    },
  }
}

/**
 * Appends the Secrets that the pod lacks. A pod without pull Secrets of its own already has those of its
 * ServiceAccount, which admission added.
 */
function withPullSecrets({ spec }: Pod, names: readonly string[]): Pick<Pod['spec'], 'imagePullSecrets'> {
  const given = spec.imagePullSecrets ?? []
  const missing = names.filter((name) => !given.some((each) => each.name === name))
  return missing.length === 0 ? {} : { imagePullSecrets: [...given, ...missing.map((name) => ({ name }))] }
}

function keptUid(pod: Pod, { keepsUid }: InjectOptions): number | null {
  const uid = Number(pod.metadata.annotations?.[ANNOTATIONS.proxyUid])
  const isPossible =
    isMarked(pod) && Number.isInteger(uid) && uid >= PROXY_UIDS.first && uid <= PROXY_UIDS.last
  return isPossible && keepsUid(uid) ? uid : null
}

/** Returns the first uid, counted from `freshUid`, that no container of the pod requests. */
function freeUid(pod: Pod, freshUid: number): number {
  const taken = new Set([
    pod.spec.securityContext?.runAsUser,
    ...everyContainer(pod).map(({ container }) => container.securityContext?.runAsUser),
  ])
  let uid = freshUid
  while (taken.has(uid)) uid = uid === PROXY_UIDS.last ? PROXY_UIDS.first : uid + 1
  return uid
}

type MarkFacts = {
  readonly gateway: InjectGateway
  readonly interception: Interception
  readonly layer: Layer
  readonly agent: string
  /**
   * Workload of a pod that a Sandbox owns; undefined for other pods. The injector writes the workload into its
   * annotation, because the owner references of such a pod do not name it.
   */
  readonly workload: string | undefined
  readonly proxyUid: number
  /**
   * Containers with programs that change their user, each as `CONTAINER: PROGRAM`, for the annotation
   * `bypass-possible`. CONTAINER is the path of the container in the pod.
   */
  readonly needs: readonly string[]
}

function markedMetadata(
  { metadata }: Pod,
  { gateway, interception, layer, agent, workload, proxyUid, needs }: MarkFacts,
): Pod['metadata'] {
  const { hardening, inbound } = gateway.spec
  const reference = `${gateway.namespace}/${gateway.name}`
  const done = { gateway: reference, agent, workload, interception, hardening }
  const { [ANNOTATIONS.bypassPossible]: _stale, ...annotations } = metadata.annotations ?? {}
  const { [INBOUND_LABEL]: _former, ...labels } = metadata.labels ?? {}
  return outsideMeshes({
    ...metadata,
    labels: {
      ...labels,
      ...(inbound === 'deny' && { [INBOUND_LABEL]: 'deny' }),
      [INJECT_LABEL]: 'injected',
      [LAYER_LABEL]: layer,
    },
    annotations: {
      ...annotations,
      ...(needs.length > 0 && { [ANNOTATIONS.bypassPossible]: needs.join(', ') }),
      [ANNOTATIONS.gateway]: metadata.annotations?.[ANNOTATIONS.gateway] || reference,
      [ANNOTATIONS.agent]: agent,
      [ANNOTATIONS.injected]: JSON.stringify(done),
      [ANNOTATIONS.proxyUid]: String(proxyUid),
    },
  })
}

function warningsOf(
  pod: Pod,
  { interception, choice }: Extract<ResolvedInterception, { kind: 'resolved' }>,
): readonly string[] {
  return [
    ...everyContainer(pod).flatMap(({ path, container }) => variableWarnings(container, path, interception)),
    ...setuidNeeds(pod).map(setuidWarning),
    ...(choice !== null && interception === 'proxyEnv' ? [choice] : []),
  ]
}
