import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { ResourceKind } from '../../core/crd/schemas.ts'
import type { GatewayStatus } from '../../core/crd/status.ts'
import type { CustomResource, ResourceStatus } from '../cluster/custom-resources.ts'
import { applyStatus } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { RESOURCES } from '../kube/objects.ts'
import { createLimit } from './concurrency-limit.ts'

export type StatusWriter = {
  /**
   * Writes the status unless it equals the current one. A change of counts alone is delayed until the last write of
   * counts is `countsMs` old; the method then returns the milliseconds until the write is due, otherwise null.
   */
  write(kind: ResourceKind, object: CustomResource, status: ResourceStatus): Promise<number | null>
  /** Returns the object's status. A newer write of this process has precedence until the watch delivers it. */
  current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined
  /** Discards the last written status of a deleted object (`namespace/name`). */
  discard(kind: ResourceKind, key: string): void
}

export type StatusWriterDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly onWrite: (kind: ResourceKind) => void
  /** Shortest interval between two writes for counts of one object. */
  readonly countsMs: number
  readonly log: Pick<Logger, 'warn'>
}

/** Time for which a write of this process has precedence over the cached object. */
const ECHO_MS = 5_000
const WRITES_AT_A_TIME = 8

type Written = { readonly uid: string; readonly status: ResourceStatus; readonly at: number }

export function createStatusWriter({ client, onWrite, countsMs, log }: StatusWriterDeps): StatusWriter {
  const written = new Map<string, Written>()
  /** Time of the last write of each Gateway. */
  const countedAt = new Map<string, number>()
  const limit = createLimit(WRITES_AT_A_TIME)
  const reported = new Set<string>()
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

  function reportUndeclared(kind: ResourceKind, fields: readonly string[]): void {
    if (fields.length === 0 || reported.has(kind)) return
    reported.add(kind)
    log.warn({ kind, fields }, 'the custom resource definition is older and lacks these fields of the status')
  }

  return {
    current,
    async write(kind, object, status) {
      const before = current(kind, object) ?? {}
      if (isDeepStrictEqual(plain(before), plain(status))) return null
      const key = keyOf(kind, object)
      const isCountsOnly = isDeepStrictEqual(plain(withoutCounts(before)), plain(withoutCounts(status)))
      const leftMs = (countedAt.get(key) ?? Number.NEGATIVE_INFINITY) + countsMs - performance.now()
      if (isCountsOnly && leftMs > 0) return leftMs
      const to = { client, resource: RESOURCES[kind], apiVersion: 'chaperone.dev/v1alpha1', kind }
      reportUndeclared(kind, await limit(() => applyStatus(to, object, status)))
      onWrite(kind)
      const at = performance.now()
      written.set(key, { uid: object.metadata.uid, status, at })
      if (kind === 'Gateway') countedAt.set(key, at)
      return null
    },
    discard(kind, key) {
      written.delete(`${kind}/${key}`)
      countedAt.delete(`${kind}/${key}`)
    },
  }
}

/** Returns the status without the numbers of gateway processes and pods. */
function withoutCounts(status: ResourceStatus): ResourceStatus {
  const { gateways, pods, ...rest } = status as GatewayStatus
  return rest
}

/** Sorts the conditions by type, because their order has no meaning: in the API, the list is a map by type. */
function plain(status: ResourceStatus): unknown {
  const conditions = [...(status.conditions ?? [])].sort((a, b) => (a.type < b.type ? -1 : 1))
  return JSON.parse(JSON.stringify({ ...status, conditions }))
}
