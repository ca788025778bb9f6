/** Handle of a registered item, with which the item is removed in constant time. */
export type RegistryHandle<T> = { item: T | null; at: number }

/**
 * Registry with O(1) add and remove. Not a `Set`: V8 chains outgrown hash tables, and a table in the old generation
 * would keep every later table, with its entries, out of the young generation's collection.
 */
export class Registry<T> {
  readonly #handles: RegistryHandle<T>[] = []

  get size(): number {
    return this.#handles.length
  }

  add(item: T): RegistryHandle<T> {
    const handle = { item, at: this.#handles.length }
    this.#handles.push(handle)
    return handle
  }

  /** Removes the item by moving the last item to its position. Idempotent. */
  remove(handle: RegistryHandle<T>): void {
    if (handle.item === null) return
    handle.item = null
    const last = this.#handles.pop()
    if (last === undefined || last === handle) return
    last.at = handle.at
    this.#handles[handle.at] = last
  }

  /** Returns a copy, so that items may be removed during iteration. */
  all(): T[] {
    const items: T[] = []
    for (const { item } of this.#handles) if (item !== null) items.push(item)
    return items
  }
}
