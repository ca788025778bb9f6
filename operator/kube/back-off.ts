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

/** Doubles from `minMs` to `maxMs`; each wait is spread over its upper half, so that many clients do not come back at once. */
export function createBackOff({ minMs, maxMs, random }: BackOffOptions): BackOff {
  let failures = 0
  return {
    next() {
      const full = Math.min(maxMs, minMs * 2 ** Math.min(failures, 32))
      failures += 1
      return Math.min(maxMs, full / 2 + full * random())
    },
    reset() {
      failures = 0
    },
  }
}
