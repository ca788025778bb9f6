import { type KubeObject, keyOf } from './objects.ts'

/** Cache of the objects of one kind by key. `onChange` receives the key of every added, changed or deleted object. */
export type ObjectCache<T extends KubeObject> = {
  get(key: string): T | undefined
  list(): readonly T[]
  put(object: T): void
  remove(object: T): void
  /** Replaces the content with a complete list, and reports the differences as changes. */
  replace(objects: readonly T[]): void
}

export function createObjectCache<T extends KubeObject>(onChange: (key: string) => void): ObjectCache<T> {
  let objects = new Map<string, T>()
  return {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    put(object) {
      objects.set(keyOf(object), object)
      onChange(keyOf(object))
    },
    remove(object) {
      objects.delete(keyOf(object))
      onChange(keyOf(object))
    },
    replace(fresh) {
      const before = objects
      objects = new Map(fresh.map((object) => [keyOf(object), object]))
      for (const key of new Set([...before.keys(), ...objects.keys()]))
        if (revisionOf(before.get(key)) !== revisionOf(objects.get(key))) onChange(key)
    },
  }
}

function revisionOf(object: KubeObject | undefined): string | null {
  return object === undefined ? null : `${object.metadata.uid} ${object.metadata.resourceVersion}`
}
