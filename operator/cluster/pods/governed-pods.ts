import * as z from 'zod'
import { ANNOTATIONS, CONTAINERS, INBOUND_LABEL, LAYER_LABEL } from '../../../core/capture/pod-contract.ts'
import { governedWorkload, owningController } from '../../../core/inject/agent-name.ts'
import type { Pod } from '../../../core/inject/pod.ts'
import { everyContainer, RESERVED_CONTAINERS } from '../../../core/inject/refusals/reserved.ts'
import type { KubeObject, ObjectMeta } from '../../kube/objects.ts'

type State = { readonly running?: object } & Terminated
type Terminated = { readonly terminated?: { readonly exitCode: number; readonly message?: string } }
type ContainerStatus = {
  readonly name: string
  readonly ready: boolean
  readonly restartCount?: number
  readonly state?: State
  readonly lastState?: Terminated
}
type FullPod = KubeObject & {
  readonly spec?: Pod['spec']
  readonly status?: {
    readonly phase?: string
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

export type PodOwner = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

/** The cached fields of a governed pod. Other fields are not cached, because a cluster can have thousands of pods. */
export type GovernedPod = KubeObject & {
  /** `namespace/name` of the Gateway; null without an annotation. */
  readonly gateway: string | null
  /** `namespace/name` of the agent; null without an annotation. */
  readonly agent: string | null
  /** `KIND NAME` of the workload, as `governedWorkload` returns it; null for a pod without a controller. */
  readonly workload: string | null
  readonly isReady: boolean
  /** True when the container of the sidecar runs, or was restarted. */
  readonly hasSidecarStarted: boolean
  /** The object that created the pod; null for a bare pod. */
  readonly owner: PodOwner | null
  /** True when the pod has succeeded or failed. */
  readonly isOver: boolean
  readonly isDeleting: boolean
  readonly layer: string | null
  /**
   * True when the injector has noted in an annotation that programs of the pod change their user. The capabilities for
   * this would allow a bypass of the capture.
   */
  readonly changesUser: boolean
  /** True when a container has no numeric user, so that its image chooses one. */
  readonly hasUnknownUser: boolean
  /**
   * Seccomp profile (`localhostProfile`) that every container of the agent has; null if they differ, or if one has no
   * profile of the type `Localhost`.
   */
  readonly seccompProfile: string | null
  /** True when the pod has the label of the NetworkPolicy that denies inbound connections. */
  readonly isInboundDenied: boolean
  /**
   * Reason why the capture rules of the pod could not be set; null if they are set or pending. Without the rules, the
   * agent does not start.
   */
  readonly captureFailure: string | null
}

export function governedPod(pod: KubeObject): GovernedPod {
  const { metadata, spec, status = {} } = pod as FullPod
  const { name, uid, resourceVersion, namespace = '' } = metadata
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return {
    metadata: { name, namespace, uid, resourceVersion },
    gateway: gatewayOf(metadata),
    agent: agentOf(metadata),
    workload: governedWorkload(metadata),
    hasSidecarStarted: hasStarted(statuses.find((each) => each.name === CONTAINERS.proxy)),
    owner: ownerOf(metadata),
    isReady: statuses.some((each) => each.name === CONTAINERS.proxy && each.ready),
    isOver: status.phase === 'Succeeded' || status.phase === 'Failed',
    isDeleting: metadata.deletionTimestamp !== undefined,
    layer: metadata.labels?.[LAYER_LABEL] ?? null,
    hasUnknownUser: spec !== undefined && hasUnknownUser({ metadata: {}, spec }),
    seccompProfile: spec === undefined ? null : seccompProfileOf({ metadata: {}, spec }),
    changesUser: metadata.annotations?.[ANNOTATIONS.bypassPossible] !== undefined,
    isInboundDenied: metadata.labels?.[INBOUND_LABEL] === 'deny',
    captureFailure: captureFailure(status.initContainerStatuses ?? []),
  }
}

function hasStarted(status: ContainerStatus | undefined): boolean {
  return status?.state?.running !== undefined || (status?.restartCount ?? 0) > 0
}

function ownerOf(metadata: ObjectMeta): PodOwner | null {
  const owner = owningController(metadata)
  if (owner?.uid === undefined) return null
  const { apiVersion, kind, name, uid } = owner
  return { apiVersion, kind, name, uid }
}

/** Maximum length of a reason, so that a status and an Event can contain several. */
const MAX_REASON = 500

function captureFailure(statuses: readonly ContainerStatus[]): string | null {
  const setter = statuses.find(({ name }) => name === CONTAINERS.rules)
  // While the kubelet waits before it restarts the container, only `lastState` has the result of the container's last
  // run.
  const ended = setter?.state?.terminated ?? setter?.lastState?.terminated
  if (ended === undefined || ended.exitCode === 0) return null
  return (ended.message?.trim() || `exit code ${ended.exitCode}`).slice(0, MAX_REASON)
}

function hasUnknownUser(pod: Pod): boolean {
  if (pod.spec.securityContext?.runAsUser !== undefined) return false
  return everyContainer(pod).some(({ container }) => container.securityContext?.runAsUser === undefined)
}

function seccompProfileOf(pod: Pod): string | null {
  const inherited = pod.spec.securityContext?.seccompProfile
  const agents = everyContainer(pod).filter(({ container: { name } }) => !RESERVED_CONTAINERS.has(name))
  const profiles = agents.map(({ container }) => {
    const profile = container.securityContext?.seccompProfile ?? inherited
    return profile?.type === 'Localhost' ? profile.localhostProfile : undefined
  })
  const [first] = profiles
  return first !== undefined && profiles.every((each) => each === first) ? first : null
}

const Injected = z.object({ gateway: z.string() })

/**
 * Returns the Gateway of a pod as `namespace/name`. Prefers the annotation of the injector, because the namespace can
 * be absent in the user's annotation.
 */
function gatewayOf({ annotations = {}, namespace = '' }: ObjectMeta): string | null {
  const parsed = Injected.safeParse(json(annotations[ANNOTATIONS.injected]))
  if (parsed.success) return parsed.data.gateway
  const named = annotations[ANNOTATIONS.gateway]
  if (named === undefined) return null
  return named.includes('/') ? named : `${namespace}/${named}`
}

function agentOf({ annotations = {}, namespace = '' }: ObjectMeta): string | null {
  const name = annotations[ANNOTATIONS.agent]
  return name === undefined ? null : `${namespace}/${name}`
}

function json(text = 'null'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // An annotation that is not JSON was not written by the injector, and is ignored.
    return null
  }
}
