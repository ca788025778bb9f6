import { totalmem } from 'node:os'
import { expect, test } from 'vitest'
import { bodyBudget, memoryLimit } from '../../../sidecar/process/memory-limit.ts'

const MIB = 1024 * 1024

test.each([
  [null, 384 * MIB, 96 * MIB],
  [null, 64 * 1024 * MIB, 1024 * MIB],
  [5 * MIB, 384 * MIB, 5 * MIB],
  [4096 * MIB, 384 * MIB, 4096 * MIB],
])('a setting of %s and a limit of %i bytes give a budget of %i', (setting, limit, budget) => {
  expect(bodyBudget(setting, limit)).toBe(budget)
})

test('the memory limit is never more than the machine has', () => {
  expect(memoryLimit()).toBeGreaterThan(0)
  expect(memoryLimit()).toBeLessThanOrEqual(totalmem())
})
