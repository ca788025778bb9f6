import { VOLUMES } from '../../core/capture/pod-contract.ts'
import { admits, type RequestingNamespace } from '../../core/crd/gateway/allowed-namespaces.ts'
import type { InjectGateway } from '../../core/inject/options.ts'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import { SYSTEM_NAMESPACES } from '../kube/system-namespaces.ts'

/** Returns the namespaces in which a pod may be governed: those of the Gateways, and those that Gateways admit. */
export function governedNamespaces(
  gateways: readonly InjectGateway[],
  namespaces: readonly RequestingNamespace[],
): ReadonlySet<string> {
  const places = gateways.map(({ namespace, spec }) => ({
    namespace,
    allowed: spec.allowedNamespaces?.agents,
  }))
  const governable = namespaces.filter(({ name }) => !SYSTEM_NAMESPACES.includes(name))
  const governed = governable.filter((namespace) => places.some((place) => admits(place, namespace)))
  return new Set(governed.map(({ name }) => name))
}

/** Interval in milliseconds at which the ConfigMaps are written again, which restores deleted ConfigMaps. */
const REPEAT_MS = 5 * 60_000

export type TrustScope = {
  readonly gateways: readonly InjectGateway[]
  /** All namespaces of the cluster. */
  readonly namespaces: readonly RequestingNamespace[]
}

/**
 * Creates the publisher of the trust bundle for every namespace in which a pod may be governed. A namespace is written
 * again only when the bundle has changed or the last write is older than `REPEAT_MS`.
 */
export function createTrustPublisher(client: KubeClient, monotonicMs: () => number): TrustPublisher {
  const published = new Map<string, { readonly pem: string; readonly at: number }>()
  return {
    async publish({ gateways, namespaces }, pem) {
      for (const namespace of governedNamespaces(gateways, namespaces)) {
        const last = published.get(namespace)
        if (last?.pem === pem && monotonicMs() - last.at < REPEAT_MS) continue
        await publishControlPlaneTrust(client, namespace, pem)
        published.set(namespace, { pem, at: monotonicMs() })
      }
    },
    async restore(namespace) {
      const last = published.get(namespace)
      return last !== undefined && (await publishControlPlaneTrust(client, namespace, last.pem))
    },
  }
}

export type TrustPublisher = {
  publish(scope: TrustScope, caPem: string): Promise<void>
  /**
   * Writes the trust bundle of a namespace again. Resolves with false when the namespace needs no trust
   * bundle, or the namespace is being deleted.
   */
  restore(namespace: string): Promise<boolean>
}

/**
 * Applies the ConfigMap that the sidecars of a namespace mount: the certificate authorities (PEM) of the control plane.
 * Idempotent. A missing or terminating namespace is skipped, with the result false.
 */
export async function publishControlPlaneTrust(
  client: KubeClient,
  namespace: string,
  caPem: string,
): Promise<boolean> {
  const { name, file } = VOLUMES.controlPlane
  try {
    await client.call({
      method: 'PATCH',
      path: pathOf(RESOURCES.ConfigMap, namespace, name),
      query: { fieldManager: FIELD_MANAGER, force: true },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
        data: { [file]: caPem },
      },
    })
    return true
  } catch (error) {
    // These errors mean that the namespace does not exist or is being deleted.
    if (!hasCode(error, 'not_found') && !hasCode(error, 'forbidden')) throw error
    return false
  }
}
