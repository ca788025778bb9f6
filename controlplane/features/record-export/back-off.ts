const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * Returns the milliseconds to wait after this number of failed requests in a row: 1 s, doubled up to 60 s, with a jitter of
 * half of the wait. `random` is between 0 and 1. A longer `retryAfterS` of the receiver replaces the wait.
 */
export function backOffMs(attempts: number, random: number, retryAfterS: number | null): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempts - 1, 10))
  return Math.max(longest * (0.5 + random / 2), (retryAfterS ?? 0) * 1_000)
}
