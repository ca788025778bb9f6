import type { Clock } from '../../core/state/clock.ts'

/**
 * Returns a clock that starts at the wall time and advances with the monotonic clock. A gateway compares the times of
 * heartbeats, so these times must rise even when the wall clock of this machine is set back.
 */
export function createSteadyClock({ nowMs, monotonicMs }: Clock): Clock {
  const aheadMs = nowMs() - monotonicMs()
  return { nowMs: () => aheadMs + monotonicMs(), monotonicMs }
}
