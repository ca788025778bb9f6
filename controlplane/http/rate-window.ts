import { createSlidingWindow, type SlidingWindow } from '../../core/state/sliding-window.ts'

const WINDOW_MS = 60_000

export type RateWindow = {
  /** Counts one request of `key`. At the limit, returns the seconds to wait without counting the request. */
  hit(key: string): ReturnType<SlidingWindow['take']>
}

/**
 * Creates a sliding window of one minute per key. A key without requests for a minute is evicted. `nowMs` must be
 * monotonic.
 */
export function createRateWindow(limit: number, nowMs: () => number): RateWindow {
  const windows = new Map<string, { readonly window: SlidingWindow; lastAt: number }>()
  let sweepAt = nowMs() + WINDOW_MS
  return {
    hit(key) {
      const now = nowMs()
      if (now >= sweepAt) {
        for (const [quiet, { lastAt }] of windows) if (lastAt <= now - WINDOW_MS) windows.delete(quiet)
        sweepAt = now + WINDOW_MS
      }
      const entry = windows.get(key) ?? { window: createSlidingWindow(limit), lastAt: now }
      windows.set(key, entry)
      entry.lastAt = now
      return entry.window.take(now)
    },
  }
}
