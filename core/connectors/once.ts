/** Memoizes a value on first use, so that a process does not load the tables of connectors that it does not use. */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null
  return () => {
    made ??= make()
    return made
  }
}
