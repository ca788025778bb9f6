import type { Clock } from '../../../core/state/clock.ts'
import { LATE_MS } from './heartbeats.ts'

/** Distinguishes heartbeats that prove a live control plane from those that do not. */
export type HeartbeatCheck = {
  /**
   * Reports whether a heartbeat counts. `until`: time up to which it is valid (ISO 8601, clock of the control plane).
   */
  counts(until: string): boolean
}

/**
 * Creates the check of one stream. A heartbeat counts when its `until` is later than all before on the stream, and it
 * was not delayed in transit. Its age is measured from the `hello` of the stream, because the wall clocks of both
 * machines may differ. It is measured by both local clocks: the wall clock may be set back, and the monotonic clock
 * stops while the machine is suspended. `at`: wall time of the control plane in the `hello`.
 */
export function createHeartbeatCheck({ nowMs, monotonicMs }: Clock, at: string): HeartbeatCheck {
  const theirs = Date.parse(at)
  const aheadMs = Number.isFinite(theirs) ? nowMs() - theirs : 0
  const startedAt = { wall: nowMs(), monotonic: monotonicMs() }
  let latest = Number.NEGATIVE_INFINITY
  return {
    counts(until) {
      const time = Date.parse(until)
      if (!(time > latest)) return false
      latest = time
      const elapsedMs = Math.max(nowMs() - startedAt.wall, monotonicMs() - startedAt.monotonic)
      return startedAt.wall + elapsedMs - aheadMs - time <= LATE_MS
    },
  }
}
