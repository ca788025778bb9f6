import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../core/state/clock.ts'

const SLICE_MS = 5

/**
 * Creates a function that a long loop awaits after each item. The function yields to the event loop once 5 ms have
 * passed since the last yield.
 */
export function createPace({ monotonicMs }: Pick<Clock, 'monotonicMs'>): () => Promise<void> {
  let startedAt = monotonicMs()
  return async () => {
    if (monotonicMs() - startedAt < SLICE_MS) return
    await setImmediate()
    startedAt = monotonicMs()
  }
}
