import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { STARTUP_PROBE } from '../../../core/inject/sidecar.ts'
import { createTimeLimits } from '../../../sidecar/control/client/time-limits.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('time limits of a starting gateway grow up to a bound far below the start-up probe', () => {
  let isStarting = true
  const limits = createTimeLimits(() => isStarting)
  const seen: number[] = []
  for (const ms of [3_000, 3_000, 3_000, 10_000, 10_000]) {
    limits.after(ms, (limitMs) => seen.push(limitMs))
    vi.runAllTimers()
  }
  expect(seen).toEqual([3_000, 6_000, 12_000, 80_000, 80_000])
  const probeMs = STARTUP_PROBE.periodSeconds * STARTUP_PROBE.failureThreshold * 1_000
  expect(Math.max(...seen)).toBeLessThan(probeMs / 6)
  isStarting = false
  limits.after(3_000, (limitMs) => seen.push(limitMs))
  vi.runAllTimers()
  expect(seen.at(-1)).toBe(3_000)
})
