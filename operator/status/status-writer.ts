import { isDeepStrictEqual } from 'node:util'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { applyStatus } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { RESOURCES } from '../kube/objects.ts'
import { createLimit } from './concurrency-limit.ts'

export type StatusWriter = {
  /** Writes only what differs from the status that the object has, or that was written a moment ago. */
  write(kind: ResourceKind, object: CustomResource, status: ResourceStatus): Promise<void>
  /** The status to compare with: what was written may not have come back by the watch yet. */
  current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined
}

export type StatusWriterDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly onWrite: (kind: ResourceKind) => void
}

/** For so long our own write is believed over an older copy of the object. */
const ECHO_MS = 5_000
const WRITES_AT_A_TIME = 8

type Written = { readonly uid: string; readonly status: ResourceStatus; readonly at: number }

export function createStatusWriter({ client, onWrite }: StatusWriterDeps): StatusWriter {
  const written = new Map<string, Written>()
  const limit = createLimit(WRITES_AT_A_TIME)
  const keyFor = (kind: ResourceKind, { metadata }: CustomResource) =>
    `${kind}/${metadata.namespace}/${metadata.name}`

  function current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined {
    const key = keyFor(kind, object)
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
      written.set(keyFor(kind, object), { uid: object.metadata.uid, status, at: performance.now() })
    },
  }
}

/** In the order of types, as lists that are maps have none. */
function plain(status: ResourceStatus): unknown {
  const conditions = [...(status.conditions ?? [])].sort((a, b) => (a.type < b.type ? -1 : 1))
  return JSON.parse(JSON.stringify({ ...status, conditions }))
}
