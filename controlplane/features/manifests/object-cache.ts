import type { Query } from '../../db/query.ts'
import { storedReferences } from './references.ts'
import type { ManifestRow, ObjectKey, ObjectName } from './rows.ts'
import {
  deleteManifest,
  fullNameOf,
  getManifests,
  listOfCredential,
  listOfNamespaces,
  listPolicyObjects,
  listReferring,
  putManifests,
} from './store.ts'

/**
 * Caches the manifest objects of one transaction. Each object is read once, and `flush` stores all written rows in few
 * statements, because a change may have thousands of objects.
 */
export type ObjectCache = {
  /** Loads the objects into the cache with one statement. */
  prefetch(keys: readonly ObjectName[]): Promise<void>
  get(key: ObjectName): Promise<ManifestRow | undefined>
  put(row: ManifestRow): void
  delete(key: ObjectKey): Promise<void>
  /**
   * Lists the objects that have at least one of these stored references (see `storedReferences`); null means
   * all objects. Omits Gateways.
   */
  referring(refs: readonly string[] | null): Promise<readonly ManifestRow[]>
  /**
   * Lists Connectors that have at least one of these stored references and are refused, or have no effect at
   * some referenced Gateways.
   */
  waitingConnectors(refs: readonly string[] | null): Promise<readonly ManifestRow[]>
  /**
   * Lists the objects, except Gateways, of these namespaces. Also lists Policies that select namespaces by labels.
   */
  ofNamespaces(names: readonly string[]): Promise<readonly ManifestRow[]>
  policies(): Promise<readonly ManifestRow[]>
  /** Lists Connectors of manifest files that name this credential of the encrypted store. */
  ofCredential(name: string): Promise<readonly ManifestRow[]>
  /** Stores the written rows. Must run before the transaction commits. */
  flush(): Promise<void>
}

export function createObjectCache(q: Query): ObjectCache {
  const known = new Map<string, ManifestRow | undefined>()
  const written = new Map<string, ManifestRow>()

  async function flush(): Promise<void> {
    const rows = [...written.values()].map((row) => ({ ...row, refs: storedReferences(row) }))
    written.clear()
    await putManifests(q, rows)
  }
  async function prefetch(keys: readonly ObjectName[]): Promise<void> {
    const unread = keys.filter((key) => !known.has(idOf(key)))
    if (unread.length === 0) return
    for (const key of unread) known.set(idOf(key), undefined)
    for (const row of await getManifests(q, unread)) known.set(idOf(row), row)
  }
  const after = async <T>(read: () => Promise<T>): Promise<T> => {
    await flush()
    return read()
  }
  return {
    prefetch,
    flush,
    async get(key) {
      await prefetch([key])
      return known.get(idOf(key))
    },
    put(row) {
      // Converts the row to the form that the JSON column returns: without undefined members.
      const stored = JSON.parse(JSON.stringify(row)) as ManifestRow
      known.set(idOf(row), stored)
      written.set(idOf(row), stored)
    },
    async delete(key) {
      known.set(idOf(key), undefined)
      written.delete(idOf(key))
      await deleteManifest(q, key)
    },
    referring: (refs) => after(() => listReferring(q, { refs, isWaitingConnector: false })),
    waitingConnectors: (refs) => after(() => listReferring(q, { refs, isWaitingConnector: true })),
    ofNamespaces: (names) => after(() => listOfNamespaces(q, names)),
    policies: () => after(() => listPolicyObjects(q)),
    ofCredential: (name) => after(() => listOfCredential(q, name)),
  }
}

function idOf(key: ObjectName): string {
  return `${key.kind}/${fullNameOf(key)}`
}
