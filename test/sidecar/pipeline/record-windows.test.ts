import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createRecordWindows, UNOWNED } from '../../../sidecar/pipeline/record/record-windows.ts'

test('refusals of hosts without connector and all others keep to 600 rows in a minute together', () => {
  let rows = 0
  const windows = createRecordWindows<number>({
    hash: (text) => Number.parseInt(hash('sha256', text).slice(0, 13), 16),
    monotonicMs: () => 0,
    open: () => rows++,
    onEnd: () => {},
  })
  const at = { nowMs: 0, time: '2026-03-01T00:00:30.000Z' }
  for (let n = 0; n < 1_000; n++) {
    const common = { rule: 'r', target: `t${n}.test` }
    for (const refusal of [
      { ...common, action: null, reason: UNOWNED, isJudged: true },
      { ...common, action: `a${n % 40}.${n}`, reason: 'permission', isJudged: true },
      { ...common, action: null, reason: 'ambiguous', isJudged: false },
    ])
      if (windows.admit('bot', refusal, at) === null) rows++
  }
  windows.close()
  expect(rows).toBeLessThanOrEqual(600)
  expect(rows).toBeGreaterThan(550)
})
