/** Slow enough to spare a control plane, quick enough that a start waits at most half as long again for it. */
const GROWTH = 1.5

/** Grows from 100 ms to 5 s; each wait is drawn from the upper half, so that a thousand gateways do not come back at once. */
export type BackOff = { next(): number; reset(): void }

export function createBackOff(random: () => number, fromMs = 100, toMs = 5_000): BackOff {
  let current = fromMs
  return {
    next() {
      const wait = current / 2 + (random() * current) / 2
      current = Math.min(toMs, current * GROWTH)
      return wait
    },
    reset() {
      current = fromMs
    },
  }
}

/** Resolves after `ms`, or at once when the signal fires. Never rejects. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
