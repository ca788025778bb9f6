export type Lru<T> = {
  get(key: string): T | undefined
  set(key: string, value: T): void
  clear(): void
  readonly size: number
}

/**
 * Creates a cache of at most `max` entries that evicts the least recently used. `onEvict` receives every evicted or
 * replaced value.
 */
export function createLru<T>(max: number, onEvict?: (value: T) => void): Lru<T> {
  // A Map keeps insertion order, so re-inserting on use keeps the least recently used key first.
  const entries = new Map<string, T>()

  function evict(key: string): void {
    const value = entries.get(key)
    entries.delete(key)
    if (value !== undefined) onEvict?.(value)
  }

  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      evict(key)
      entries.set(key, value)
      const oldest = entries.keys().next()
      if (entries.size > max && !oldest.done) evict(oldest.value)
    },
    clear() {
      for (const key of [...entries.keys()]) evict(key)
    },
    get size() {
      return entries.size
    },
  }
}
