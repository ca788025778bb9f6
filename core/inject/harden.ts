import type { Container, Pod } from './pod.ts'
import { ALLOWED_CAPABILITIES } from './refuse-container.ts'
import { mapContainers } from './reserved.ts'

/** The folder in which every client library looks for the token of the Kubernetes API. */
const API_TOKEN_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
/** Volumes that the API server adds by itself, before any webhook is asked. */
const API_TOKEN_VOLUME = /^kube-api-access-/

/** The pod with everything said that a governed pod must not leave open; it contradicts nothing any more. */
export function hardenPod(pod: Pod): Pod {
  const { securityContext } = pod.spec
  const hardened = mapContainers(pod, hardenContainer)
  return {
    ...hardened,
    spec: {
      ...hardened.spec,
      securityContext: {
        ...securityContext,
        seccompProfile: securityContext?.seccompProfile ?? { type: 'RuntimeDefault' },
      },
    },
  }
}

/** Whether a pod's agent keeps the token of the Kubernetes API: it must ask for it itself, and the Gateway allow it. */
export function keepsApiToken(pod: Pod, isAllowed: boolean): boolean {
  return isAllowed && pod.spec.automountServiceAccountToken === true
}

/** Without the token of the Kubernetes API, also where the API server has put it into the pod already. */
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

/** The container with nothing left open that a governed one must close. */
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
