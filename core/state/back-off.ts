export type BackOff = {
  /** Milliseconds to wait before the next attempt; grows with every call. */
  next(): number
  reset(): void
}

export type BackOffOptions = {
  readonly minMs: number
  readonly maxMs: number
  /** Growth from one wait to the next. 2 unless set. */
  readonly factor?: number
  /** A number from 0 up to 1. */
  readonly random: () => number
}

/**
 * Exponential back-off with jitter. The n-th wait is drawn between `minMs * factor^n` and twice that, at most `maxMs`; at
 * the limit from its upper half. The jitter keeps many clients from retrying at the same moment.
 */
export function createBackOff({ minMs, maxMs, factor = 2, random }: BackOffOptions): BackOff {
  let failures = 0
  return {
    next() {
      const full = Math.min(maxMs, minMs * factor ** Math.min(failures, 32))
      failures += 1
      const least = full < maxMs ? full : maxMs / 2
      return least + (Math.min(maxMs, least * 2) - least) * random()
    },
    reset() {
      failures = 0
    },
  }
}
