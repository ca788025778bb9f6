/** Wall time for records and expiry, monotonic time for everything that measures. Both in ms. */
export type Clock = { nowMs(): number; monotonicMs(): number }

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

/** ISO 8601 UTC of the clock's wall time. */
export function isoNow(clock: Clock): string {
  return new Date(clock.nowMs()).toISOString()
}
