/** Result of `take`. `retryAfterS` is the number of whole seconds until another request can be admitted, at least 1. */
export type Taken = { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number }

/** Log of an agent's last admitted requests. Times are monotonic milliseconds. */
export type SlidingWindow = {
  /** Admits and counts the request, or refuses it without counting it. */
  take(nowMs: number): Taken
  /** Returns the admission times of the last 60 seconds. */
  recent(nowMs: number): readonly number[]
}

const WINDOW_MS = 60_000

/**
 * Creates a window that admits at most `limit` requests in any 60 seconds. The last `limit` time stamps are sufficient:
 * a request is admitted if the request that was admitted `limit` admissions earlier is at least 60 s old. The ring of
 * time stamps grows on demand, so an agent without requests needs no memory.
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
