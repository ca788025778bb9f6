/** `retryAfterS`: whole seconds until a slot is free, at least 1. */
export type Taken = { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number }

/** An exact log of the last `limit` admitted requests. Times are monotonic milliseconds. */
export type SlidingWindow = {
  /** Admits and counts, or refuses without counting. */
  take(nowMs: number): Taken
  /** When those of the last 60 seconds were admitted. */
  recent(nowMs: number): readonly number[]
}

const WINDOW_MS = 60_000

/**
 * At most `limit` admissions in any 60 seconds. Keeping the last `limit` time stamps is enough: a request fits exactly
 * when the one admitted `limit` requests ago is 60 s old. The ring grows as it fills, so an idle agent costs nothing.
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
