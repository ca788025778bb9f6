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
 * another one of the same name.
 */
export async function applyStatus(to: Applying, object: KubeObject, status: object): Promise<void> {
  await apply(to, object, { subresource: '/status', body: { status } })
}

/**
 * Sets the operator's finalizers (empty: none). The uid in the body prevents the API server from creating a deleted
 * object again.
 */
export async function applyFinalizers(
  to: Applying,
  object: KubeObject,
  finalizers: readonly string[],
): Promise<void> {
  await apply(to, object, { subresource: '', body: {}, finalizers })
}

type Patch = {
  readonly subresource: string
  readonly body: object
  readonly finalizers?: readonly string[]
}

async function apply(to: Applying, { metadata }: KubeObject, patch: Patch): Promise<void> {
  const { client, resource, apiVersion, kind, signal } = to
  const { name, namespace, uid } = metadata
  const finalizers = patch.finalizers === undefined ? {} : { finalizers: patch.finalizers }
  const place = namespace === undefined ? { name, uid } : { name, namespace, uid }
  try {
    await client.call({
      method: 'PATCH',
      path: `${pathOf(resource, namespace, name)}${patch.subresource}`,
      query: { fieldManager: FIELD_MANAGER, force: true },
      // The body is JSON, which is valid YAML.
      contentType: 'application/apply-patch+yaml',
      body: { apiVersion, kind, metadata: { ...place, ...finalizers }, ...patch.body },
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    if (!hasCode(error, 'not_found') && !hasCode(error, 'conflict')) throw error
  }
}
