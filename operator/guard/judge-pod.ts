import { ANNOTATIONS, CONTAINERS, INJECT_LABEL, LAYER_LABEL } from '../../core/capture/pod-contract.ts'
import { PROXIED_LAYERS } from '../../core/inject/interception.ts'
import type { Pod } from '../../core/inject/pod.ts'

/** The fields of a pod and of its status that the watchdog judges. */
export type RunningPod = Pod & {
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly ContainerStatus[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly ephemeralContainerStatuses?: readonly ContainerStatus[]
  }
}

export type ContainerStatus = {
  readonly name: string
  /** User of the first process in the container. Only recent container runtimes report it. */
  readonly user?: { readonly linux?: { readonly uid: number } }
}

export type Finding = {
  /**
   * `ungoverned` (no sidecar), `sidecar-changed` and `proxy-user` allow a bypass of the gateway; `outdated` does not.
   */
  readonly kind: 'ungoverned' | 'sidecar-changed' | 'proxy-user' | 'outdated'
  readonly message: string
}

export type Wanted = {
  readonly namespaceLabels: Readonly<Record<string, string>>
  readonly proxyImages: readonly string[]
}

/**
 * Returns the most severe finding about a running pod; null without a finding, and for a pod that has ended or is being
 * deleted.
 */
export function judgePod(pod: RunningPod, wanted: Wanted): Finding | null {
  if (hasEnded(pod)) return null
  const mustBeGoverned =
    wanted.namespaceLabels[INJECT_LABEL] === 'required' ||
    Boolean(pod.metadata.annotations?.[ANNOTATIONS.gateway])
  const proxy = pod.spec.initContainers?.find(({ name }) => name === CONTAINERS.proxy)
  if (proxy === undefined) return mustBeGoverned ? ungoverned('ungoverned', 'the pod has no sidecar') : null
  if (!startsFirst(pod))
    return ungoverned('sidecar-changed', 'other containers start before the capture rules and the proxy')
  const impostor = runningAs(pod, proxy.securityContext?.runAsUser)
  if (impostor !== undefined) return proxyUser(impostor)
  return judgeImage(proxy.image ?? '', wanted.proxyImages)
}

/**
 * Judges the image of a sidecar. Another tag of the installed image is outdated; an image of another repository is not
 * a Chaperone sidecar.
 */
function judgeImage(image: string, wanted: readonly string[]): Finding | null {
  if (wanted.includes(image)) return null
  const isOurs = wanted.some((each) => repositoryOf(each) === repositoryOf(image))
  return isOurs ? outdated(image) : ungoverned('sidecar-changed', `the image of its sidecar is ${image}`)
}

/** Returns the repository of an image: its name without tag and digest, but with the port of the registry. */
function repositoryOf(image: string): string {
  return image.replace(/@.*$/, '').replace(/:[^:/]*$/, '')
}

function hasEnded({ metadata, status }: RunningPod): boolean {
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  return isOver || metadata['deletionTimestamp'] !== undefined
}

function startsFirst({ metadata, spec }: Pod): boolean {
  const [first, second] = spec.initContainers ?? []
  if (PROXIED_LAYERS.includes(metadata.labels?.[LAYER_LABEL] ?? '')) return first?.name === CONTAINERS.proxy
  return first?.name === CONTAINERS.rules && second?.name === CONTAINERS.proxy
}

/**
 * Returns the name of a container that runs as this user. Only the status of a pod shows the actual user, because an
 * image can specify any user.
 */
function runningAs({ status }: RunningPod, uid: number | undefined): string | undefined {
  const statuses = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ]
  const others = statuses.filter(({ name }) => name !== CONTAINERS.proxy)
  return others.find(({ user }) => uid !== undefined && user?.linux?.uid === uid)?.name
}

function ungoverned(kind: 'ungoverned' | 'sidecar-changed', why: string): Finding {
  return {
    kind,
    message: `The pod is not governed, although it must be: ${why}. Delete the pod, so that its workload creates a governed pod.`,
  }
}

function proxyUser(container: string): Finding {
  return {
    kind: 'proxy-user',
    message: `Container ${container} runs as the user of the proxy, whose traffic is not captured. Set runAsUser in its securityContext.`,
  }
}

function outdated(image: string): Finding {
  return {
    kind: 'outdated',
    message: `The sidecar is ${image}, which is not the installed version. Restart the workload to update it.`,
  }
}
