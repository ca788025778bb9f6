const WINDOW_MS = 60_000

export type RateWindow = {
  /** Counts one request of `key`; when the limit is reached, nothing is counted and the seconds to wait are given. */
  hit(key: string): { readonly ok: true } | { readonly ok: false; readonly retryAfterS: number }
}

/**
 * An exact sliding window of one minute per key. `nowMs` is a monotonic clock in milliseconds.
 * Keys that were quiet for a window are forgotten, so memory follows the callers of the last minute.
 */
export function createRateWindow(limit: number, nowMs: () => number): RateWindow {
  const hits = new Map<string, number[]>()
  let sweepAt = nowMs() + WINDOW_MS
  return {
    hit(key) {
      const now = nowMs()
      if (now >= sweepAt) sweepAt = sweep(hits, now)
      const recent = (hits.get(key) ?? []).filter((at) => at > now - WINDOW_MS)
      hits.set(key, recent)
      const [oldest] = recent
      if (recent.length >= limit && oldest !== undefined) {
        return { ok: false, retryAfterS: Math.max(1, Math.ceil((oldest + WINDOW_MS - now) / 1_000)) }
      }
      recent.push(now)
      return { ok: true }
    },
  }
}

function sweep(hits: Map<string, number[]>, now: number): number {
  for (const [key, times] of hits) if ((times.at(-1) ?? 0) <= now - WINDOW_MS) hits.delete(key)
  return now + WINDOW_MS
}
