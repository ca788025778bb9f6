import type { Clock } from '../../core/state/clock.ts'

/** Tracks the age of this replica's reads of the state on which gateways depend. */
export type Freshness = {
  /** Runs a database read. The age of the result counts from the start of the read. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>
  /**
   * Returns whether, for each kind of state, the last successful read began less than 10 s ago; false before the first
   * read. When the result is false, this replica may have missed a change by another replica.
   */
  isFresh(): boolean
}

const FRESH_MS = 10_000

export function createFreshness({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Freshness {
  const readAt = new Map<string, number>()
  return {
    async read(what, work) {
      const startedAt = monotonicMs()
      // The state counts as too old until it has been read successfully.
      if (!readAt.has(what)) readAt.set(what, Number.NEGATIVE_INFINITY)
      const value = await work()
      readAt.set(what, startedAt)
      return value
    },
    isFresh() {
      const now = monotonicMs()
      return readAt.size > 0 && [...readAt.values()].every((at) => now - at < FRESH_MS)
    },
  }
}
