/**
 * Returns a function that computes a value on its first call and returns the same value on every later call. A process
 * therefore loads no tables of connector types that it does not use.
 */
export function once<T extends object>(make: () => T): () => T {
  let made: T | null = null
  return () => {
    made ??= make()
    return made
  }
}
