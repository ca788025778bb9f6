/**
 * The namespaces that Kubernetes makes for itself: webhooks, admission policies and the watchdog leave them alone, because
 * what keeps a cluster alive comes before everything that governs it. Other namespaces that begin with `kube-` are a tenant's.
 */
export const SYSTEM_NAMESPACES: readonly string[] = ['kube-system', 'kube-public', 'kube-node-lease']
