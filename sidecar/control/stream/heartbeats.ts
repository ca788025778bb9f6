import type { Clock } from '../../../core/state/clock.ts'

/** A stream that stays silent, or whose beats are older than this, counts as lost although it is open. */
export const LATE_MS = 15_000

/**
 * Since when the control plane's word is missing. Only signed beats count as its word: a replica that cannot read the
 * database sends manifests, and no beats.
 */
export type Heartbeats = {
  connected(): void
  disconnected(): void
  /** A beat came that counts; see `HeartbeatCheck`. */
  received(): void
  readonly isConnected: boolean
  /** Milliseconds since the control plane was lost; 0 while it is there. */
  lostForMs(): number
}

export function createHeartbeats(clock: Pick<Clock, 'monotonicMs'>): Heartbeats {
  let isConnected = false
  let lastHeard = clock.monotonicMs()
  let lostAt: number | null = lastHeard
  return {
    connected() {
      isConnected = true
    },
    disconnected() {
      isConnected = false
      const now = clock.monotonicMs()
      // A stream that was silent is lost since its last beat, not since it ended.
      lostAt ??= now - lastHeard > LATE_MS ? lastHeard : now
    },
    received() {
      lastHeard = clock.monotonicMs()
      lostAt = null
    },
    get isConnected() {
      return isConnected
    },
    lostForMs() {
      const now = clock.monotonicMs()
      if (lostAt !== null) return now - lostAt
      return now - lastHeard > LATE_MS ? now - lastHeard : 0
    },
  }
}
