const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * Returns the milliseconds to wait after `attempts` failed requests in a row: 1 s, doubled up to 60 s, of which up to
 * half is subtracted at random (`random` is between 0 and 1). A longer `retryAfterS` of the receiver, in seconds,
 * replaces the wait.
 */
export function backOffMs(attempts: number, random: number, retryAfterS: number | null): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempts - 1, 10))
  return Math.max(longest * (0.5 + random / 2), (retryAfterS ?? 0) * 1_000)
}
