import type { Container, Pod, SecurityContext } from './pod.ts'
import { ALLOWED_CAPABILITIES } from './refusals/refuse-container.ts'
import { mapContainers } from './refusals/reserved.ts'

/** Folder in which client libraries expect the token of the Kubernetes API. */
export const API_TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
/** Matches the volume with the token that the API server adds to a pod before it calls webhooks. */
const API_TOKEN_VOLUME = /^kube-api-access-/

export type SeccompProfile = NonNullable<SecurityContext['seccompProfile']>

/**
 * Returns the seccomp profile of an agent's containers. `profile` is the path of a profile on the node. Without
 * `profile`, the result is `RuntimeDefault`.
 */
export function seccompProfileOf(profile: string | undefined): SeccompProfile {
  return profile === undefined ? { type: 'RuntimeDefault' } : { type: 'Localhost', localhostProfile: profile }
}

/**
 * Returns the pod with a value for every security field that a governed pod must not leave unset. The injector has
 * already refused pods with contradicting values.
 */
export function hardenPod(pod: Pod, seccompProfile: SeccompProfile): Pod {
  const { securityContext } = pod.spec
  const hardened = mapContainers(pod, hardenContainer)
  return {
    ...hardened,
    spec: {
      ...hardened.spec,
      securityContext: {
        ...securityContext,
        seccompProfile: securityContext?.seccompProfile ?? seccompProfile,
      },
    },
  }
}

/**
 * Reports whether a pod's agent keeps the token of the Kubernetes API: the pod requests it, and the Gateway allows it.
 */
export function keepsApiToken(pod: Pod, isAllowed: boolean): boolean {
  return isAllowed && pod.spec.automountServiceAccountToken === true
}

/** Returns the pod without the token of the Kubernetes API and without the volume that the API server added for it. */
export function withoutApiToken(pod: Pod): Pod {
  const bare = mapContainers(pod, (container) => ({
    ...container,
    ...(container.volumeMounts && {
      volumeMounts: container.volumeMounts.filter(
        ({ name, mountPath }) => !(API_TOKEN_VOLUME.test(name) && mountPath === API_TOKEN_PATH),
      ),
    }),
  }))
  const volumes = bare.spec.volumes?.filter(({ name }) => !API_TOKEN_VOLUME.test(name))
  return { ...bare, spec: { ...bare.spec, automountServiceAccountToken: false, ...(volumes && { volumes }) } }
}

/** Returns the container with a value for every security field that a governed container must not leave unset. */
export function hardenContainer(container: Container): Container {
  const { securityContext } = container
  const kept = securityContext?.capabilities?.add?.filter((name) => ALLOWED_CAPABILITIES.includes(name)) ?? []
  return {
    ...container,
    securityContext: {
      ...securityContext,
      allowPrivilegeEscalation: false,
      capabilities: { ...(kept.length > 0 && { add: kept }), drop: ['ALL'] },
    },
  }
}
