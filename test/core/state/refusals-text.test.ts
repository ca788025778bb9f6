import { describe, expect, test } from 'vitest'
import { refusalsText } from '../../../core/state/refusals-text.ts'

describe('the text of a row', () => {
  const at = { first: '2026-03-01T00:00:00.000Z', last: '2026-03-01T00:00:59.000Z' }
  test.each([
    [
      { count: 1_240, distinct_targets: 87, more_targets: false },
      '1,240 refusals from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 87 targets',
    ],
    [
      { count: 1, distinct_targets: 1, more_targets: false },
      '1 refusal from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 1 target',
    ],
    [
      { count: 20_000, distinct_targets: 10_000, more_targets: true },
      '20,000 refusals from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 10,000 or more targets',
    ],
    [
      { count: 1_234_567, distinct_targets: 999, more_targets: false },
      '1,234,567 refusals from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 999 targets',
    ],
  ])('%o', (tally, text) => {
    expect(refusalsText({ ...at, ...tally })).toBe(text)
  })
})
