/** Notifies long polls of possible changes of this replica's state. */
export type StateChanges = {
  /** Calls the listener after every read of the state. Returns a function that removes the listener. */
  onRead(listener: () => void): () => void
  /** Signal that is aborted when the replica closes. */
  readonly closing: AbortSignal
  notify(): void
  close(): void
}

export function createStateChanges(): StateChanges {
  const closing = new AbortController()
  const listeners = new Set<() => void>()
  return {
    closing: closing.signal,
    onRead(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
    },
    close: () => closing.abort(),
  }
}
