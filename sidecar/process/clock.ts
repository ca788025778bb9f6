import type { Clock } from '../../core/state/clock.ts'

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}

/** Returns the wall time of the clock in ISO 8601, UTC. */
export function isoNow(clock: Clock): string {
  return new Date(clock.nowMs()).toISOString()
}
