import { isDeepStrictEqual } from 'node:util'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { applyStatus } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { RESOURCES } from '../kube/objects.ts'
import { createLimit } from './concurrency-limit.ts'

export type StatusWriter = {
  /** Writes the status unless it equals the current one. */
  write(kind: ResourceKind, object: CustomResource, status: ResourceStatus): Promise<void>
  /** Returns the object's status. A newer write of our own has precedence until the watch delivers it. */
  current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined
}

export type StatusWriterDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly onWrite: (kind: ResourceKind) => void
}

/** Our own write has precedence over the cached object for this long. */
const ECHO_MS = 5_000
const WRITES_AT_A_TIME = 8

type Written = { readonly uid: string; readonly status: ResourceStatus; readonly at: number }

export function createStatusWriter({ client, onWrite }: StatusWriterDeps): StatusWriter {
  const written = new Map<string, Written>()
  const limit = createLimit(WRITES_AT_A_TIME)
  const keyOf = (kind: ResourceKind, { metadata }: CustomResource) =>
    `${kind}/${metadata.namespace}/${metadata.name}`

  function current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined {
    const key = keyOf(kind, object)
    const own = written.get(key)
    if (own === undefined) return object.status
    if (own.uid === object.metadata.uid && performance.now() - own.at < ECHO_MS) return own.status
    written.delete(key)
    return object.status
  }

  return {
    current,
    async write(kind, object, status) {
      if (isDeepStrictEqual(plain(current(kind, object) ?? {}), plain(status))) return
      const to = { client, resource: RESOURCES[kind], apiVersion: 'chaperone.dev/v1alpha1', kind }
      await limit(() => applyStatus(to, object, status))
      onWrite(kind)
      written.set(keyOf(kind, object), { uid: object.metadata.uid, status, at: performance.now() })
    },
  }
}

/** Sorts the conditions by type, because their order has no meaning: in the API, the list is a map by type. */
function plain(status: ResourceStatus): unknown {
  const conditions = [...(status.conditions ?? [])].sort((a, b) => (a.type < b.type ? -1 : 1))
  return JSON.parse(JSON.stringify({ ...status, conditions }))
}
