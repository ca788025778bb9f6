import type { Clock } from '../../../core/state/clock.ts'
import { LATE_MS } from './heartbeats.ts'

/** Tells the beats of one stream that prove that the control plane is there now from those that do not. */
export type HeartbeatCheck = {
  /** `until`: the wall time up to which the beat speaks (ISO 8601, the control plane's clock). */
  counts(until: string): boolean
}

/**
 * A beat counts when it speaks up to a later time than all beats of the stream before, and was not held back on its way.
 * The age of a beat is measured from the greeting of the stream, because the two wall clocks may differ, by both clocks of
 * this machine: the wall clock may be set back, and the monotonic one stands still while the machine is suspended.
 * `at`: the control plane's wall time at the greeting.
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
