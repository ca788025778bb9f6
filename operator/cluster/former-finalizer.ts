import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'

/**
 * Finalizer that former versions set on Gateways. It must be removed, because it would block the deletion of a Gateway
 * forever.
 */
const FORMER_FINALIZER = 'chaperone.dev/gateway'

/**
 * Removes the finalizer of former versions. Returns the number of Gateways that had it. A Gateway that
 * changes at the same time keeps the finalizer until the next call.
 */
export async function removeFormerFinalizers(
  client: Pick<KubeClient, 'call'>,
  gateways: readonly KubeObject[],
): Promise<number> {
  let count = 0
  for (const { metadata } of gateways) {
    const { namespace, name, resourceVersion, finalizers = [] } = metadata
    if (!finalizers.includes(FORMER_FINALIZER)) continue
    const others = finalizers.filter((each) => each !== FORMER_FINALIZER)
    try {
      await client.call({
        method: 'PATCH',
        path: pathOf(RESOURCES.Gateway, namespace, name),
        contentType: 'application/merge-patch+json',
        body: { metadata: { finalizers: others, resourceVersion } },
      })
      count++
    } catch (error) {
      if (!hasCode(error, 'not_found') && !hasCode(error, 'conflict')) throw error
    }
  }
  return count
}
