/** Result of a request for a slot. `retryAfterS`: whole seconds until a slot is free, at least 1. */
export type Taken = { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number }

/** Log of the last admitted requests of one agent. Times are monotonic milliseconds. */
export type SlidingWindow = {
  /** Admits the request and counts it, or refuses it without counting. */
  take(nowMs: number): Taken
  /** Returns the admission times of the last 60 seconds. */
  recent(nowMs: number): readonly number[]
}

const WINDOW_MS = 60_000

/**
 * Admits at most `limit` requests in any 60 seconds. Keeping the last `limit` time stamps is sufficient: a request fits
 * exactly if the one admitted `limit` requests ago is 60 s old. The ring grows on demand, so an idle agent costs
 * nothing.
 */
export function createSlidingWindow(limit: number): SlidingWindow {
  const stamps: number[] = []
  let oldest = 0
  return {
    take(nowMs) {
      if (stamps.length < limit) {
        stamps.push(nowMs)
        return { ok: true }
      }
      const freeAt = (stamps[oldest] ?? nowMs) + WINDOW_MS
      if (nowMs < freeAt) return { ok: false, retryAfterS: Math.max(1, Math.ceil((freeAt - nowMs) / 1_000)) }
      stamps[oldest] = nowMs
      oldest = (oldest + 1) % limit
      return { ok: true }
    },
    recent: (nowMs) => stamps.filter((stamp) => stamp > nowMs - WINDOW_MS),
  }
}
