export type BackOff = {
  /**
   * Returns the time until the next attempt in milliseconds. The limit of that time grows with every call, up to
   * `maxMs`.
   */
  next(): number
  reset(): void
}

/** Bounds the power of two, so that a count of failures of any size gives a finite number. */
const MAX_DOUBLINGS = 30

export type BackOffOptions = {
  readonly minMs: number
  readonly maxMs: number
  /** Factor by which the limit grows from one wait to the next. The default is 2. */
  readonly factor?: number
  /** Returns a random number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number
}

/**
 * Returns the limit of the wait after `failures` earlier failures in a row, in milliseconds: `firstMs`, doubled with
 * each failure up to `maxMs`, without jitter. For callers that store the number of failures; others use
 * `createBackOff`.
 */
export function backOffLimitMs(
  failures: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
): number {
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures, MAX_DOUBLINGS))
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
