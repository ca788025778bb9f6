import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { line, parseLine } from '../../../sidecar/journal/line.ts'
import { recordJson } from '../../../sidecar/pipeline/record-json.ts'
import { trafficRecord } from './traffic-record.ts'

const text = fc.string({ unit: 'binary', maxLength: 40 })
const nullable = fc.option(text, { nil: null })

describe('a journal line', () => {
  test('holds exactly what JSON.stringify would say, whatever the strings are', () => {
    const record = fc.record({
      ...{ id: text, path: nullable, host: nullable, reason: nullable, method: text, agent: nullable },
      policies: fc.array(text, { maxLength: 3 }),
      latency_ms: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
    })
    fc.assert(
      fc.property(record, (changes) => {
        const whole = trafficRecord(changes)
        expect(JSON.parse(recordJson(whole))).toEqual(JSON.parse(JSON.stringify(whole)))
        expect(recordJson(whole)).not.toContain('\n')
      }),
    )
  })

  test('comes back as it was written, with its phase', () => {
    const record = trafficRecord({ path: '/a"b\\c\n', note: 'é\ud800' })
    const parsed = parseLine(line('intent', recordJson(record)).trimEnd())
    expect(parsed?.phase).toBe('intent')
    expect(parsed?.record).toEqual(JSON.parse(JSON.stringify(record)))
  })

  test('that was cut off anywhere is recognised as such', () => {
    const whole = line('result', recordJson(trafficRecord())).trimEnd()
    for (let length = 0; length < whole.length; length++) expect(parseLine(whole.slice(0, length))).toBeNull()
  })
})
