import type { Clock } from '../../../core/state/clock.ts'

/** Milliseconds without data, or without a heartbeat that counts, after which an open stream is considered lost. */
export const LATE_MS = 15_000

/**
 * Measures the time since the last heartbeat of the control plane. Only signed heartbeats count: a replica that cannot
 * read the database sends configuration, but no heartbeats.
 */
export type Heartbeats = {
  connected(): void
  disconnected(): void
  /** Records a heartbeat that counts (see `HeartbeatCheck`). */
  received(): void
  readonly isConnected: boolean
  /** Returns the milliseconds since the connection to the control plane was lost; 0 while it is connected. */
  lostForMs(): number
}

export function createHeartbeats(clock: Pick<Clock, 'monotonicMs'>): Heartbeats {
  let isConnected = false
  let lastReceived = clock.monotonicMs()
  let lostAt: number | null = lastReceived
  return {
    connected() {
      isConnected = true
    },
    disconnected() {
      isConnected = false
      const now = clock.monotonicMs()
      // A stream without heartbeats counts as lost since its last heartbeat, any other stream since its end.
      lostAt ??= now - lastReceived > LATE_MS ? lastReceived : now
    },
    received() {
      lastReceived = clock.monotonicMs()
      lostAt = null
    },
    get isConnected() {
      return isConnected
    },
    lostForMs() {
      const now = clock.monotonicMs()
      if (lostAt !== null) return now - lostAt
      return now - lastReceived > LATE_MS ? now - lastReceived : 0
    },
  }
}
