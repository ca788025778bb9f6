import { readFile } from 'node:fs/promises'
import { authorityText } from '../core/request/authority-text.ts'
import type { KubeAccess } from './transport.ts'

/** Address of the API server of this pod's cluster, and the files with its CA certificate and the ServiceAccount token. */
export type PodApi = { readonly url: string; readonly caFile: string; readonly tokenFile: string }

export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Creates the access with the ServiceAccount of this pod. Reads the CA certificate and the token for each request, because
 * the kubelet rotates both files.
 */
export function createPodAccess({ url, caFile, tokenFile }: PodApi): KubeAccess {
  return {
    server: url.replace(/\/+$/, ''),
    usesProxy: false,
    async applyTo(options) {
      const [ca, token] = await Promise.all([readFile(caFile, 'utf8'), readFile(tokenFile, 'utf8')])
      options.ca = ca
      options.headers = { ...options.headers, authorization: `Bearer ${token.trim()}` }
    },
  }
}

/**
 * Returns the API server of this pod's cluster, from `KUBERNETES_SERVICE_HOST` and `KUBERNETES_SERVICE_PORT`, which the
 * kubelet sets; null outside of a cluster.
 */
export function podApiOf(env: Readonly<Record<string, string | undefined>>): PodApi | null {
  const host = env['KUBERNETES_SERVICE_HOST']?.trim() ?? ''
  const port = env['KUBERNETES_SERVICE_PORT']?.trim() || '443'
  if (host === '') return null
  return {
    url: `https://${authorityText(host, port)}`,
    caFile: `${SERVICE_ACCOUNT}/ca.crt`,
    tokenFile: `${SERVICE_ACCOUNT}/token`,
  }
}
