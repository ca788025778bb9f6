export type Lru<T> = {
  get(key: string): T | undefined
  set(key: string, value: T): void
  readonly size: number
}

/** At most `max` entries; the one unused for longest goes first. */
export function createLru<T>(max: number): Lru<T> {
  // A Map keeps insertion order: re-inserting on use makes the first key the oldest.
  const entries = new Map<string, T>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size <= max) return
      const oldest = entries.keys().next()
      if (!oldest.done) entries.delete(oldest.value)
    },
    get size() {
      return entries.size
    },
  }
}
