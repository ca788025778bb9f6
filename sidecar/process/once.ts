/** Returns a function that calls `close` at most once. Later calls return the promise of the first one. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | null = null
  return () => {
    closing ??= close()
    return closing
  }
}
