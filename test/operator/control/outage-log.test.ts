import { describe, expect, test } from 'vitest'
import { createOutageLog } from '../../../operator/control/outage-log.ts'

function setup() {
  const lines: Array<{ readonly fields: object; readonly message: string }> = []
  const note = (fields: object, message?: string) => void lines.push({ fields, message: message ?? '' })
  const clock = { ms: 5_000 }
  const outages = createOutageLog({
    log: { warn: note, info: note } as never,
    message: 'not reached',
    monotonicMs: () => clock.ms,
  })
  return { lines, clock, outages }
}

describe('an outage in the log', () => {
  test('of a day, polled every second, has fewer than 60 lines, each without a stack', () => {
    const { lines, clock, outages } = setup()
    for (let second = 0; second < 86_400; second += 1) {
      outages.failed('10.0.0.1', new Error('connect ECONNREFUSED\n10.0.0.1:443'))
      clock.ms += 1_000
    }
    expect(lines.length).toBeGreaterThan(5)
    expect(lines.length).toBeLessThan(60)
    expect(JSON.stringify(lines)).not.toMatch(/\\n|at Object|\.ts:/)
    expect(lines[0]).toEqual({
      fields: { about: '10.0.0.1', error: 'connect ECONNREFUSED 10.0.0.1:443', attempts: 1, for_s: 0 },
      message: 'not reached',
    })
  })

  test('has one line at its end, and the next outage is logged at once', () => {
    const { lines, clock, outages } = setup()
    outages.answered('a')
    outages.failed('a', new Error('x'))
    outages.failed('b', new Error('y'))
    clock.ms += 7_000
    outages.answered('a')
    outages.answered('a')
    outages.failed('a', new Error('z'))
    expect(lines.map(({ message }) => message)).toEqual([
      ...['not reached', 'not reached', 'not reached: over', 'not reached'],
    ])
    expect(lines[2]?.fields).toEqual({ about: 'a', after_s: 7 })
  })
})
