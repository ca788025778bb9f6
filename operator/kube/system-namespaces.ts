/**
 * The namespaces of Kubernetes itself. Webhooks, admission policies and the watchdog exempt them, because a failure of
 * Chaperone must not break the cluster. Other namespaces with the prefix `kube-` can belong to tenants.
 */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease']
