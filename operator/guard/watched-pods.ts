import { ANNOTATIONS, CONTAINERS, INJECT_LABEL, LAYER_LABEL } from '../../core/capture/pod-contract.ts'
import { owningController } from '../../core/inject/agent-name.ts'
import { isSandbox } from '../../core/inject/sandbox.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { ContainerStatus, RunningPod } from './judge-pod.ts'

/** A cached pod, reduced to the fields that the watchdog judges. Every pod of the cluster is cached. */
export type WatchedPod = KubeObject & { readonly watched: RunningPod }

const KEPT_LABELS = [INJECT_LABEL, LAYER_LABEL]
const KEPT_ANNOTATIONS = [ANNOTATIONS.gateway, ANNOTATIONS.proxyUid]

export function watchedPod(object: KubeObject): WatchedPod {
  // No validation is needed: the API server has validated the pod.
  const { metadata, spec, status } = object as KubeObject & RunningPod
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = object.metadata
  const owner = owningController(metadata)
  const watched: RunningPod = {
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: pick(metadata.labels, KEPT_LABELS),
      annotations: pick(metadata.annotations, KEPT_ANNOTATIONS),
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(owner !== undefined && isSandbox(owner) && { ownerReferences: [owner] }),
    },
    spec: { containers: [], initContainers: (spec.initContainers ?? []).slice(0, 2).map(keptContainer) },
    status: {
      ...(status?.phase !== undefined && { phase: status.phase }),
      containerStatuses: kept(status?.containerStatuses),
      initContainerStatuses: kept(status?.initContainerStatuses),
      ephemeralContainerStatuses: kept(status?.ephemeralContainerStatuses),
    },
  }
  const place = namespace === undefined ? {} : { namespace }
  return { metadata: { name, uid, resourceVersion, ...place }, watched }
}

type InitContainer = NonNullable<RunningPod['spec']['initContainers']>[number]

/** Reduces an init container to the judged fields. Only the sidecar keeps its image and user. */
function keptContainer({ name, image, securityContext }: InitContainer): InitContainer {
  const uid = securityContext?.runAsUser
  const isProxy = name === CONTAINERS.proxy
  return {
    name,
    ...(isProxy && image !== undefined && { image }),
    ...(isProxy && uid !== undefined && { securityContext: { runAsUser: uid } }),
  }
}

function kept(statuses: readonly ContainerStatus[] = []): readonly ContainerStatus[] {
  return statuses.map(({ name, user }) => ({ name, ...(user && { user }) }))
}

function pick(map: Readonly<Record<string, string>> | undefined, keys: readonly string[]) {
  const found = keys.flatMap((key) => (map?.[key] === undefined ? [] : [[key, map[key]] as const]))
  return Object.fromEntries(found)
}
