import { createHash } from 'node:crypto'

export type FakeObject = {
  apiVersion?: string
  kind?: string
  metadata: Record<string, unknown> & {
    name: string
    namespace?: string
    resourceVersion?: string
    uid?: string
  }
  [member: string]: unknown
}
export type Change = { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: FakeObject; revision: number }

/**
 * In-memory store of Kubernetes objects of all kinds. One revision counts the changes of all objects. Watches read the
 * history of changes.
 */
export type FakeKubeStore = ReturnType<typeof createFakeKubeStore>

export function createFakeKubeStore(onChange: (collection: string, change: Change) => void) {
  const collections = new Map<string, Map<string, FakeObject>>()
  const history = new Map<string, Change[]>()
  let revision = 100
  let compactedTo = 0

  const of = (collection: string) => {
    const known = collections.get(collection) ?? new Map<string, FakeObject>()
    collections.set(collection, known)
    return known
  }
  const keyOf = ({ metadata: { namespace, name } }: FakeObject) => `${namespace ?? ''}/${name}`

  function record(collection: string, type: Change['type'], object: FakeObject): FakeObject {
    revision += 1
    const stored = structuredClone({
      ...object,
      metadata: { ...object.metadata, resourceVersion: `${revision}` },
    })
    const change = { type, object: stored, revision }
    history.set(collection, [...(history.get(collection) ?? []), change])
    if (type === 'DELETED') of(collection).delete(keyOf(stored))
    else of(collection).set(keyOf(stored), stored)
    onChange(collection, change)
    return stored
  }

  return {
    revision: () => revision,
    list: (collection: string) => [...of(collection).values()],
    get: (collection: string, namespace: string, name: string) => of(collection).get(`${namespace}/${name}`),
    create(collection: string, object: FakeObject): FakeObject | null {
      if (of(collection).has(keyOf(object))) return null
      const uid = createHash('sha256')
        .update(`${collection}${keyOf(object)}${revision}`)
        .digest('hex')
        .slice(0, 32)
      const metadata = { generation: 1, ...object.metadata, uid }
      return record(collection, 'ADDED', { ...object, metadata })
    },
    /**
     * Replaces an object. Returns null when `resourceVersion` is not the current one. A change outside of status and metadata
     * increments the generation.
     */
    replace(collection: string, object: FakeObject): FakeObject | null {
      const before = of(collection).get(keyOf(object))
      const wanted = object.metadata.resourceVersion
      if (before === undefined || (wanted !== undefined && wanted !== before.metadata.resourceVersion))
        return null
      const content = ({ metadata: _m, status: _s, ...rest }: FakeObject) => JSON.stringify(rest)
      const generation = Number(before.metadata['generation']) + (content(before) === content(object) ? 0 : 1)
      const metadata = { ...object.metadata, uid: before.metadata.uid, generation }
      const plain = (one: FakeObject) =>
        JSON.stringify({ ...one, metadata: { ...one.metadata, resourceVersion: '' } })
      const next = { ...object, metadata } as FakeObject
      // Like the API server, creates no new revision for a replacement that changes nothing.
      if (plain(next) === plain(before)) return before
      return record(collection, 'MODIFIED', next)
    },
    /** Deletes an object. An object with finalizers only gets a deletion timestamp, as in the API server. */
    remove(collection: string, namespace: string, name: string): FakeObject | null {
      const object = of(collection).get(`${namespace}/${name}`)
      if (object === undefined) return null
      const finalizers = (object.metadata['finalizers'] as string[] | undefined) ?? []
      if (finalizers.length === 0) return record(collection, 'DELETED', object)
      const deletionTimestamp = new Date().toISOString()
      return record(collection, 'MODIFIED', {
        ...object,
        metadata: { ...object.metadata, deletionTimestamp },
      })
    },
    /** Returns the changes after revision `from`; null when compaction has removed part of them. */
    since: (collection: string, from: number): Change[] | null =>
      from < compactedTo ? null : (history.get(collection) ?? []).filter((change) => change.revision > from),
    /** Discards the history. A watch from an earlier revision fails with status 410. */
    compact() {
      revision += 1
      compactedTo = revision
    },
  }
}
