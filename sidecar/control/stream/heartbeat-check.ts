import type { Clock } from '../../../core/state/clock.ts'
import { LATE_MS } from './heartbeats.ts'

/** Distinguishes heartbeats that prove a live control plane from replayed or delayed ones. */
export type HeartbeatCheck = {
  /**
   * Reports whether a heartbeat counts. `until` is the end of its validity (ISO 8601) by the clock of the control
   * plane.
   */
  counts(until: string): boolean
}

/**
 * Creates the check of one stream. A heartbeat counts when its `until` is later than that of every earlier heartbeat on
 * the stream, and the heartbeat was not delayed in transit. The age of a heartbeat is measured from the `hello` message
 * of the stream, because the wall clocks of both machines may differ. Both local clocks measure the age: the wall clock
 * may be set back, and the monotonic clock stops while the machine is suspended. `at` is the wall time of the control
 * plane in the `hello` message.
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
