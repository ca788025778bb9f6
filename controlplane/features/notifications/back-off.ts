/** Seconds between a failed attempt and the next: 45 hours in all. Afterwards the message is dead. */
export const RETRY_AFTER_S: readonly number[] = [5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200, 86_400]

/**
 * Random part of a wait, as a fraction: it is up to a tenth longer, so that a recovered receiver does not receive all
 * messages at once.
 */
const JITTER = 0.1

/**
 * Returns the seconds to wait after the attempt with this number (from 1); null after the last one. `random`: 0 to 1.
 */
export function waitAfter(attempts: number, random: number): number | null {
  const planned = RETRY_AFTER_S[attempts - 1]
  return planned === undefined ? null : planned * (1 + JITTER * random)
}
