import type { Clock } from '../../core/state/clock.ts'

/** How recently this replica read what gateways depend on. */
export type Freshness = {
  /** Runs a read of the database; it counts from the moment at which it began. */
  read<T>(what: string, work: () => Promise<T>): Promise<T>
  /** False when any of the reads last succeeded too long ago: another replica may have changed something since. */
  isFresh(): boolean
}

const FRESH_MS = 10_000

export function createFreshness({ monotonicMs }: Pick<Clock, 'monotonicMs'>): Freshness {
  const readAt = new Map<string, number>()
  return {
    async read(what, work) {
      const startedAt = monotonicMs()
      // Known as missing until it succeeds for the first time.
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
