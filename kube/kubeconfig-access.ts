import type { KubeConfig } from '@kubernetes/client-node'
import type { KubeAccess } from './transport.ts'

/**
 * Loads the access to a cluster from a kubeconfig file, including credential plugins. Only this module loads the client
 * package, which takes 85 MiB of memory, because a pod with a ServiceAccount does not need the package.
 */
export async function loadKubeconfig(file: string): Promise<KubeAccess> {
  const { KubeConfig } = await import('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromFile(file)
  return kubeconfigAccess(config)
}

/**
 * Returns the access to the cluster of the kubeconfig's current context. Throws when the kubeconfig has no current cluster.
 */
export function kubeconfigAccess(config: KubeConfig): KubeAccess {
  const cluster = config.getCurrentCluster()
  if (cluster === null) throw new Error('The kubeconfig has no current cluster. Set current-context.')
  return {
    server: cluster.server.replace(/\/+$/, ''),
    usesProxy: Boolean(cluster.proxyUrl),
    applyTo: (options) => config.applyToHTTPSOptions(options),
  }
}
