export type Lru<T> = {
  get(key: string): T | undefined
  set(key: string, value: T): void
  clear(): void
  readonly size: number
}

/** At most `max` entries; the one unused for longest goes first. `onLeave` sees every value that is dropped or replaced. */
export function createLru<T>(max: number, onLeave?: (value: T) => void): Lru<T> {
  // A Map keeps insertion order: re-inserting on use makes the first key the oldest.
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
