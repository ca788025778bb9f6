import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { PodConfig } from '../config.ts'

/** Instance of the agent in the pod of this process; null outside of a pod. */
export type PodInstance = {
  current(): Instance | null
  /** Sets the instance that the control plane has sent. Ignores the instance of another pod. */
  set(instance: Instance): void
}

/**
 * Creates the instance, which contains only the pod at first. The control plane sends the Sandbox and the claim of the
 * pod.
 */
export function createPodInstance(config: Pick<PodConfig, 'pod'> | null): PodInstance {
  let current: Instance | null = null
  if (config !== null)
    current = { pod: `${config.pod.namespace}/${config.pod.name}`, pod_uid: config.pod.uid }
  return {
    current: () => current,
    set(instance) {
      if (instance.pod_uid === current?.pod_uid) current = instance
    },
  }
}
