export type BackOff = {
  /** Milliseconds to wait before the next attempt; grows with every call. */
  next(): number
  reset(): void
}

export type BackOffOptions = {
  readonly minMs: number
  readonly maxMs: number
  /** A number from 0 up to 1. */
  readonly random: () => number
}

/**
 * Doubles from `minMs` to `maxMs`; every wait is spread between itself and the next one (at the end: over its upper
 * half), so that many clients do not come back at once.
 */
export function createBackOff({ minMs, maxMs, random }: BackOffOptions): BackOff {
  let failures = 0
  return {
    next() {
      const full = Math.min(maxMs, minMs * 2 ** Math.min(failures, 32))
      failures += 1
      const least = full < maxMs ? full : maxMs / 2
      return least + (Math.min(maxMs, least * 2) - least) * random()
    },
    reset() {
      failures = 0
    },
  }
}
