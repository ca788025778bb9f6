export type Lru<T> = {
  get(key: string): T | undefined
  set(key: string, value: T): void
  clear(): void
  readonly size: number
}

/**
 * Cache of at most `max` entries that evicts the least recently used. `onLeave` receives every evicted or replaced
 * value.
 */
export function createLru<T>(max: number, onLeave?: (value: T) => void): Lru<T> {
  // A Map keeps insertion order, so re-inserting on use keeps the least recently used key first.
  const entries = new Map<string, T>()

  function leave(key: string): void {
    const value = entries.get(key)
    entries.delete(key)
    if (value !== undefined) onLeave?.(value)
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
      leave(key)
      entries.set(key, value)
      const oldest = entries.keys().next()
      if (entries.size > max && !oldest.done) leave(oldest.value)
    },
    clear() {
      for (const key of [...entries.keys()]) leave(key)
    },
    get size() {
      return entries.size
    },
  }
}
