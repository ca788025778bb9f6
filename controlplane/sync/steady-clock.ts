import type { Clock } from '../../core/state/clock.ts'

/**
 * The wall time of this moment and what has passed since by the monotonic clock. A gateway compares the times of beats
 * with each other: they move forward also when the wall clock of this machine is set back.
 */
export function createSteadyClock({ nowMs, monotonicMs }: Clock): Clock {
  const aheadMs = nowMs() - monotonicMs()
  return { nowMs: () => aheadMs + monotonicMs(), monotonicMs }
}
