import { backOffLimitMs } from '../../../core/state/back-off.ts'

const LIMITS = { firstMs: 1_000, maxMs: 60_000 }

/**
 * Returns the milliseconds to wait after `attempts` failed requests in a row. The wait is 1 s after the first failure
 * and doubles up to 60 s. Up to half of the wait is subtracted at random (`random` is between 0 and 1). If the receiver
 * requested a longer wait (`retryAfterS`, in seconds), returns the requested wait.
 */
export function backOffMs(attempts: number, random: number, retryAfterS: number | null): number {
  const limitMs = backOffLimitMs(attempts - 1, LIMITS)
  return Math.max(limitMs * (0.5 + random / 2), (retryAfterS ?? 0) * 1_000)
}
