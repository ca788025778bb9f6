import type { Clock } from '../../core/state/clock.ts'

/** Age of this replica's reads of the state that gateways depend on. */
export type Freshness = {
  /** Runs a read of the database; its age counts from its start. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>
  /**
   * Reports whether all reads are recent. After a long time without a successful read, another replica may have changed
   * the state.
   */
  isFresh(): boolean
}

const FRESH_MS = 10_000

export function createFreshness({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Freshness {
  const readAt = new Map<string, number>()
  return {
    async read(what, work) {
      const startedAt = monotonicMs()
      // A read that has not succeeded yet counts as too old.
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
