/** A place on a roster: kept by whoever took it, to leave again. */
export type RegistryHandle<T> = { item: T | null; at: number }

/**
 * Who is there just now, where thousands come and go every second. A Set would do, were it not that each table it
 * outgrows points to the next: one that became old keeps all later ones, and every exchange that was in them, from
 * the collector of young objects. Here leaving leaves nothing behind.
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

  /** The last one takes the free place. Leaving twice is leaving once. */
  remove(handle: RegistryHandle<T>): void {
    if (handle.item === null) return
    handle.item = null
    const last = this.#handles.pop()
    if (last === undefined || last === handle) return
    last.at = handle.at
    this.#handles[handle.at] = last
  }

  /** A copy: whoever is on it may leave while it is gone through. */
  all(): T[] {
    const items: T[] = []
    for (const { item } of this.#handles) if (item !== null) items.push(item)
    return items
  }
}
