import { CONTAINERS, POD_PORTS, VOLUMES } from '../../capture/pod-contract.ts'
import type { Container, Pod } from '../pod.ts'

export const RESERVED_CONTAINERS: ReadonlySet<string> = new Set(Object.values(CONTAINERS))
export const RESERVED_VOLUMES: ReadonlySet<string> = new Set(Object.values(VOLUMES).map(({ name }) => name))
export const RESERVED_PORTS: ReadonlySet<number> = new Set(Object.values(POD_PORTS))

const LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const

/** Returns every container of a pod, init and ephemeral ones included, with its path. */
export function everyContainer(
  pod: Pod,
): readonly { readonly path: string; readonly container: Container }[] {
  return LISTS.flatMap((list) =>
    (pod.spec[list] ?? []).map((container, at) => ({ path: `spec.${list}[${at}]`, container })),
  )
}

/** Returns the pod with `change` applied to every container. */
export function mapContainers(pod: Pod, change: (container: Container) => Container): Pod {
  const { initContainers, containers, ephemeralContainers } = pod.spec
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(change),
      ...(initContainers && { initContainers: initContainers.map(change) }),
      ...(ephemeralContainers && { ephemeralContainers: ephemeralContainers.map(change) }),
    },
  }
}
