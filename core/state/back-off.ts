export type BackOff = {
  /**
   * Returns the time until the next attempt in milliseconds. The limit of that time grows with every call, up to
   * `maxMs`.
   */
  next(): number
  reset(): void
}

export type BackOffOptions = {
  readonly minMs: number
  readonly maxMs: number
  /** Factor by which the limit grows from one wait to the next. The default is 2. */
  readonly factor?: number
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number
}

/**
 * Creates an exponential back-off with jitter. The limit of a wait grows from twice `minMs` to `maxMs`, and each wait
 * is drawn from the upper half below its limit, so that many clients do not retry at the same moment.
 */
export function createBackOff({ minMs, maxMs, factor = 2, random }: BackOffOptions): BackOff {
  let limitMs = 2 * minMs
  return {
    next() {
      const halfMs = Math.min(maxMs, limitMs) / 2
      limitMs = Math.min(maxMs, limitMs * factor)
      return halfMs + halfMs * random()
    },
    reset() {
      limitMs = 2 * minMs
    },
  }
}
