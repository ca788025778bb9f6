import type { KubeClient } from './client.ts'
import { hasCode } from './kube-failure.ts'
import { type KubeObject, pathOf, type ResourcePath } from './objects.ts'

/** Field manager of server-side apply, by which the API server tracks the fields that the operator owns. */
export const FIELD_MANAGER = 'chaperone-operator'

export type Applying = {
  readonly client: Pick<KubeClient, 'call'>
  readonly resource: ResourcePath
  readonly apiVersion: string
  readonly kind: string
  readonly signal?: AbortSignal
}

/**
 * Applies `status` as the complete status of this field manager. Does nothing when the object was deleted or replaced by
 * another one of the same name; the uid in the body prevents the API server from creating it again.
 */
export async function applyStatus(to: Applying, { metadata }: KubeObject, status: object): Promise<void> {
  const { client, resource, apiVersion, kind, signal } = to
  const { name, namespace, uid } = metadata
  const place = namespace === undefined ? { name, uid } : { name, namespace, uid }
  try {
    await client.call({
      method: 'PATCH',
      path: `${pathOf(resource, namespace, name)}/status`,
      query: { fieldManager: FIELD_MANAGER, force: true },
      // The body is JSON, which is valid YAML.
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion, kind, metadata: place, status },
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (!hasCode(error, 'not_found') && !hasCode(error, 'conflict')) throw error
  }
}
