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
   * counts is `countsMs` old. Returns the milliseconds until the next write is due; null if none is due.
   */
  write(kind: ResourceKind, object: CustomResource, status: ResourceStatus): Promise<number | null>
  /** Returns the object's status. A newer write of this process has precedence until the watch delivers it. */
  current(kind: ResourceKind, object: CustomResource): ResourceStatus | undefined
  /** Returns the fields of the status that the custom resource definition of the kind lacks. */
  undeclared(kind: ResourceKind): readonly string[]
  /** Discards the last written status of a deleted object (`namespace/name`). */
  discard(kind: ResourceKind, key: string): void
}

export type StatusWriterDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly onWrite: (kind: ResourceKind) => void
  /** Minimum number of milliseconds between two writes that change only the counts of one object. */
  readonly countsMs: number
  /** Called when the fields that a custom resource definition lacks have changed, so that every status names them. */
  readonly onUndeclared: () => void
  readonly log: Pick<Logger, 'warn'>
}

/** Time in milliseconds for which a write of this process has precedence over the cached object. */
const ECHO_MS = 5_000
const WRITES_AT_A_TIME = 8
/**
 * Time in milliseconds after which a field that was not declared is written again, because the custom
 * resource definition may be newer by then.
 */
const UNDECLARED_MS = 10 * 60_000

type Written = { readonly uid: string; readonly status: ResourceStatus; readonly at: number }

export function createStatusWriter(deps: StatusWriterDeps): StatusWriter {
  const { client, onWrite, countsMs } = deps
  const written = new Map<string, Written>()
  /** Monotonic time (ms) of the last status write of each Gateway, by key. */
  const countedAt = new Map<string, number>()
  const limit = createLimit(WRITES_AT_A_TIME)
  const undeclared = createUndeclaredFields(deps)
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
    undeclared: undeclared.fieldsOf,
    async write(kind, object, planned) {
      const leftOut = undeclared.leftOut(kind)
      const status = without(planned, leftOut)
      const tried = undeclared.fieldsOf(kind).filter((field) => field in status)
      const before = current(kind, object) ?? {}
      if (isDeepStrictEqual(plain(before), plain(status))) return undeclared.dueMs(kind)
      const key = keyOf(kind, object)
      const isCountsOnly = isDeepStrictEqual(plain(withoutCounts(before)), plain(withoutCounts(status)))
      const leftMs = (countedAt.get(key) ?? Number.NEGATIVE_INFINITY) + countsMs - performance.now()
      if (isCountsOnly && leftMs > 0) return leftMs
      const to = { client, resource: RESOURCES[kind], apiVersion: 'chaperone.dev/v1alpha1', kind }
      const missing = await limit(() => applyStatus(to, object, status))
      onWrite(kind)
      const at = performance.now()
      written.set(key, { uid: object.metadata.uid, status: without(status, missing), at })
      undeclared.put(kind, tried, missing)
      if (kind === 'Gateway') countedAt.set(key, at)
      return undeclared.dueMs(kind)
    },
    discard(kind, key) {
      written.delete(`${kind}/${key}`)
      countedAt.delete(`${kind}/${key}`)
    },
  }
}

/**
 * Stores the fields of the status that custom resource definitions lack, so that not every write contains these
 * undeclared fields. At intervals, a write contains them again.
 */
function createUndeclaredFields({ onUndeclared, log }: StatusWriterDeps) {
  type Known = { readonly fields: readonly string[]; readonly at: number }
  const known = new Map<ResourceKind, Known>()
  const fieldsOf = (kind: ResourceKind) => known.get(kind)?.fields ?? []
  /** Milliseconds until a write contains the undeclared fields again; null when there are none. */
  const dueMs = (kind: ResourceKind) => {
    const found = known.get(kind)
    return found === undefined ? null : Math.max(0, found.at + UNDECLARED_MS - performance.now())
  }
  return {
    fieldsOf,
    dueMs,
    /** Returns the undeclared fields that the next write must leave out. */
    leftOut: (kind: ResourceKind) => (dueMs(kind) === 0 ? [] : fieldsOf(kind)),
    /**
     * Stores the result of a write. `tried`: stored fields that the write contained again. `missing`: fields that the
     * custom resource definition turned out to lack.
     */
    put(kind: ResourceKind, tried: readonly string[], missing: readonly string[]): void {
      if (tried.length === 0 && missing.length === 0) return
      const before = fieldsOf(kind)
      const kept = before.filter((field) => !tried.includes(field))
      const fields = [...new Set([...kept, ...missing])].sort()
      if (fields.length === 0) known.delete(kind)
      else known.set(kind, { fields, at: performance.now() })
      if (isDeepStrictEqual(before, fields)) return
      if (fields.length > 0)
        log.warn(
          { kind, fields },
          'the custom resource definition is older than the operator and lacks these fields, so the status is written without them; apply the definitions of the version of the operator (crds/)',
        )
      onUndeclared()
    },
  }
}

function without(status: ResourceStatus, fields: readonly string[]): ResourceStatus {
  return Object.fromEntries(Object.entries(status).filter(([name]) => !fields.includes(name)))
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
