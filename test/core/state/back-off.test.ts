import { expect, test } from 'vitest'
import { createBackOff } from '../../../core/state/back-off.ts'

const waits = (random: number, factor?: number) => {
  const options = { minMs: 800, maxMs: 30_000, random: () => random }
  const backOff = createBackOff(factor === undefined ? options : { ...options, factor })
  return Array.from({ length: 8 }, () => Math.round(backOff.next()))
}

test('a wait doubles up to the limit and is drawn from the upper half below it', () => {
  expect(waits(0)).toEqual([800, 1_600, 3_200, 6_400, 12_800, 15_000, 15_000, 15_000])
  expect(waits(0.999)).toEqual([1_599, 3_198, 6_397, 12_794, 25_587, 29_985, 29_985, 29_985])
})

test('a wait grows by the given factor', () => {
  expect(waits(0, 1.5).slice(0, 4)).toEqual([800, 1_200, 1_800, 2_700])
})

test('a reset starts with the shortest wait again', () => {
  const backOff = createBackOff({ minMs: 100, maxMs: 1_000, random: () => 0 })
  expect([backOff.next(), backOff.next()]).toEqual([100, 200])
  backOff.reset()
  expect(backOff.next()).toBe(100)
})
