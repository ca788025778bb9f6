import type { KubeCall } from '../../../kube/transport.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'

/** An API server with the guard and without a webhook. */
export type Guard = {
  readonly client: KubeClient
  /** Creates a pod, by default in the namespace `team`. Resolves with the refusal; null if the pod is admitted. */
  create(pod: unknown, namespace?: string): Promise<string | null>
}

export function hardened(more: object) {
  return { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, ...more } }
}

export function token(audiences: readonly string[]): KubeCall {
  return {
    method: 'POST',
    path: '/api/v1/namespaces/team/serviceaccounts/agent/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences } },
  }
}

export function caConfigMap(namespace: string, name = 'chaperone-control-plane-ca'): KubeCall {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { 'ca.crt': 'evil' } }
  return { method: 'POST', path: `/api/v1/namespaces/${namespace}/configmaps`, body }
}
