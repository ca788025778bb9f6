import type { Clock } from '../../core/state/clock.ts'

/**
 * Returns a clock that starts at the wall time and advances by the monotonic clock. A gateway compares the times of
 * beats with each other, so they must rise even when the wall clock of this machine is set back.
 */
export function createSteadyClock({ nowMs, monotonicMs }: Clock): Clock {
  const aheadMs = nowMs() - monotonicMs()
  return { nowMs: () => aheadMs + monotonicMs(), monotonicMs }
}
