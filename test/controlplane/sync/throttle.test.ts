import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Throttle } from '../../../controlplane/sync/throttle.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function start(durationMs: number) {
  let now = 0
  let runs = 0
  const throttle = new Throttle({
    work: () => {
      now += durationMs
      runs += 1
    },
    clock: { monotonicMs: () => now },
    maxPauseMs: 250,
  })
  return { throttle, runs: () => runs }
}

test('the first request runs at once, and a thousand during the pause run once at its end', async () => {
  const { throttle, runs } = start(10)
  throttle.request()
  expect(runs()).toBe(1)
  for (let n = 0; n < 1_000; n++) throttle.request()
  await vi.advanceTimersByTimeAsync(39)
  expect(runs()).toBe(1)
  await vi.advanceTimersByTimeAsync(1)
  expect(runs()).toBe(2)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs()).toBe(2)
})

test('the pause has a limit', async () => {
  const { throttle, runs } = start(10_000)
  throttle.request()
  throttle.request()
  await vi.advanceTimersByTimeAsync(250)
  expect(runs()).toBe(2)
})

test('nothing runs after the end', async () => {
  const { throttle, runs } = start(10)
  throttle.request()
  throttle.request()
  throttle[Symbol.dispose]()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs()).toBe(1)
})
