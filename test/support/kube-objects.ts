import { KubeConfig } from '@kubernetes/client-node'
import { kubeconfigAccess } from '../../kube/kubeconfig-access.ts'
import type { KubeCall } from '../../kube/transport.ts'
import { createKubeClient, type KubeClient } from '../../operator/kube/client.ts'
import { eventually } from './eventually.ts'
import type { KubeApiServer } from './kube-api-server.ts'

export function clientOf(server: KubeApiServer): KubeClient {
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfigPath)
  return createKubeClient(kubeconfigAccess(config))
}

export async function createNamespace(
  client: KubeClient,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }
  await client.call({ method: 'POST', path: '/api/v1/namespaces', body })
}

/**
 * Waits for the ServiceAccount `default` of a namespace. The API server admits pods only after a controller has created the
 * ServiceAccount.
 */
export async function untilAccount(client: KubeClient, namespace: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await eventually(`the ServiceAccount of ${namespace}`, async () =>
    (await refusalOf(client, { method: 'GET', path })) === null ? true : null,
  )
}

/** Returns the error message of a call that the API server refuses; null for a call that succeeds. */
export async function refusalOf(client: KubeClient, call: KubeCall): Promise<string | null> {
  try {
    await client.call(call)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

export function createPod(namespace: string, pod: unknown, query: KubeCall['query'] = {}): KubeCall {
  return { method: 'POST', path: `/api/v1/namespaces/${namespace}/pods`, body: pod, query }
}
