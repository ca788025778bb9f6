import { ChaperoneError } from '../../core/errors.ts'
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
 * Applies `status` as the complete status of this field manager, without the fields that an older custom resource
 * definition lacks. Returns the names of these fields. Does nothing when the object was deleted or replaced by another
 * one of the same name; the uid in the body prevents the API server from creating it again.
 */
export async function applyStatus(
  to: Applying,
  object: KubeObject,
  status: object,
): Promise<readonly string[]> {
  try {
    await apply(to, object, status)
    return []
  } catch (error) {
    const undeclared = undeclaredFields(error).filter((name) => name in status)
    if (undeclared.length === 0) throw error
    const declared = Object.entries(status).filter(([name]) => !undeclared.includes(name))
    // An error names only some of the undeclared fields, so the write without these fields may find further ones.
    return [...undeclared, ...(await applyStatus(to, object, Object.fromEntries(declared)))]
  }
}

/**
 * Returns the members of `status` that the custom resource definition does not declare. Server-side apply refuses a
 * body with such a member, whereas other writes prune it.
 */
function undeclaredFields(error: unknown): readonly string[] {
  if (!(error instanceof ChaperoneError)) return []
  const found = error.message.matchAll(
    /\.status\.([A-Za-z]+)(?:\.[A-Za-z.]+)?: field not declared in schema/g,
  )
  return [...new Set([...found].map(([, name = '']) => name))]
}

async function apply(to: Applying, { metadata }: KubeObject, status: object): Promise<void> {
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
