/** Notifies long polls of possible changes of this replica's state, until closed. */
export class StateChanges {
  readonly #closing = new AbortController()
  readonly #listeners = new Set<() => void>()

  /** Signal that is aborted when the replica closes. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Calls the listener after every read of the state. Returns a function that removes the listener. */
  onRead(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  close(): void {
    this.#closing.abort()
  }
}
