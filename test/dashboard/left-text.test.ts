import { expect, test } from 'vitest'
import { leftText } from '../../controlplane/dashboard/components/text/left-text.ts'

test.each([
  [-1, 'expired'],
  [0, 'expired'],
  [400, '1 s left'],
  [59_000, '59 s left'],
  [60_000, '1 min 0 s left'],
  [299_100, '5 min 0 s left'],
  [3_599_000, '59 min 59 s left'],
  [3_600_000, '1 h 0 min left'],
  [86_400_000, '24 h 0 min left'],
])('%d ms are shown as "%s"', (ms, text) => {
  expect(leftText(ms)).toBe(text)
})
