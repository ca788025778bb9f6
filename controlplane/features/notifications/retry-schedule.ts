/**
 * Seconds to wait after each failed attempt, 45 hours in total. A message whose attempt after the last wait fails is
 * dead.
 */
const RETRY_AFTER_S: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200, 86_400]

/**
 * Maximum random extension of a wait, as a fraction of the wait. The extension spreads the attempts, so that a
 * recovered receiver does not get all messages at once.
 */
const JITTER = 0.1

/**
 * Returns the seconds to wait after the attempt with this number (the first attempt is 1); null after the last attempt.
 * `random` is between 0 and 1.
 */
export function waitAfter(attempts: number, random: number): number | null {
  const planned = RETRY_AFTER_S[attempts - 1]
  return planned === undefined ? null : planned * (1 + JITTER * random)
}
