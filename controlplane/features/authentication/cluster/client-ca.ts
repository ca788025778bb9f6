import * as z from 'zod'
import type { KubeClient } from './kube-client.ts'

const PATH = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
const Published = z.object({ data: z.object({ 'client-ca-file': z.string() }) })
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Reads the CA certificates (PEM) for client certificates from the ConfigMap that Kubernetes publishes for extension
 * API servers. Returns no certificates when the API server accepts no client certificates, or when this pod may not
 * read the ConfigMap. Rejects with `not_ready` when the API server does not answer.
 */
export async function readClientCas(kube: Pick<KubeClient, 'get'>): Promise<readonly string[]> {
  const published = Published.safeParse(await kube.get(PATH))
  return published.success ? (published.data.data['client-ca-file'].match(CERTIFICATE) ?? []) : []
}
