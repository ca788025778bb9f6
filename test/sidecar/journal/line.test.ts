import { describe, expect, test } from 'vitest'
import { line, parseLine } from '../../../sidecar/journal/line.ts'
import { LineBuffer } from '../../../sidecar/journal/line-buffer.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import fc from '../../support/fast-check.ts'
import { trafficRecord } from './traffic-record.ts'

const text = fc.string({ unit: 'binary', maxLength: 40 })
const nullable = fc.option(text, { nil: null })

describe('a journal line', () => {
  test('equals the output of JSON.stringify for any string', () => {
    const record = fc.record({
      ...{ seq: fc.maxSafeNat(), bytes_in: fc.maxSafeInteger(), bytes_out: fc.nat(5_000) },
      status: fc.option(fc.integer({ min: 100, max: 599 }), { nil: null }),
      path: fc.option(fc.string({ unit: 'binary', maxLength: 200 }), { nil: null }),
      ...{ id: text, host: nullable, reason: nullable, method: text, agent: nullable },
      policies: fc.array(text, { maxLength: 3 }),
      candidates: fc.option(fc.array(text, { maxLength: 3 }), { nil: undefined }),
      actions: fc.option(fc.array(text, { maxLength: 3 }), { nil: undefined }),
      action_count: fc.option(fc.nat(), { nil: undefined }),
      action_details: fc.option(
        fc.array(fc.record({ type: text, target: nullable, effect: fc.constant('write' as const) }), {
          maxLength: 3,
        }),
        { nil: undefined },
      ),
      function_tools: fc.option(fc.nat(), { nil: undefined }),
      instance: fc.option(fc.record({ pod: text, pod_uid: text, claim: text }), { nil: undefined }),
      why: fc.option(
        fc.record({
          ...{ source: fc.constant('policy' as const), reason: text, pattern: nullable },
          rules: fc.array(fc.record({ policy: text, rule: text }), { maxLength: 2 }),
          ...{ risk_score: fc.constantFrom(0, 0.35, 1), risk_factors: fc.array(text, { maxLength: 2 }) },
          approver_groups: fc.array(text, { maxLength: 2 }),
        }),
        { nil: undefined },
      ),
      latency_ms: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0 }),
      overhead_ms: fc.nat(10_000_000).map((us) => us / 1000),
    })
    fc.assert(
      fc.property(record, (changes) => {
        const whole = trafficRecord(changes)
        expect(JSON.parse(recordJson(whole))).toEqual(JSON.parse(JSON.stringify(whole)))
        expect(recordJson(whole)).not.toContain('\n')
      }),
    )
  })

  test('is parsed as it was written, with its phase', () => {
    const record = trafficRecord({ path: '/a"b\\c\n', note: 'é\ud800' })
    const parsed = parseLine(line('intent', recordJson(record)).trimEnd())
    expect(parsed?.phase).toBe('intent')
    expect(parsed?.record).toEqual(JSON.parse(JSON.stringify(record)))
  })

  test('is recognized as truncated wherever it is cut', () => {
    const whole = line('result', recordJson(trafficRecord())).trimEnd()
    for (let length = 0; length < whole.length; length++) expect(parseLine(whole.slice(0, length))).toBeNull()
  })

  test('of a gateway without checksums is parsed, and recognized as truncated wherever it is cut', () => {
    const json = recordJson(trafficRecord())
    const whole = `{"phase":"result","record":${json}}`
    expect(parseLine(whole)).toMatchObject({ phase: 'result', json })
    for (let length = 0; length < whole.length; length++) expect(parseLine(whole.slice(0, length))).toBeNull()
  })

  test('whose checksum differs is refused, also if its end becomes that of a line without a checksum', () => {
    const whole = line('result', recordJson(trafficRecord())).trimEnd()
    const damaged = whole.replace('"id":"', '"id":"x')
    for (const text of [damaged, `${damaged.slice(0, -2)}}}`, `${damaged}}`, `${damaged}}}`])
      expect(parseLine(text)).toBeNull()
  })
})

describe('buffered lines', () => {
  test('equal the lines one by one, whatever their number and length, and are removed once taken', () => {
    const entry = fc.record({
      phase: fc.constantFrom('intent', 'result'),
      json: fc.string({ unit: 'binary' }),
    })
    const lines = new LineBuffer()
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 30 }), fc.nat({ max: 3_000 }), (entries, times) => {
        let expected = ''
        for (const { phase, json } of entries as { phase: 'intent' | 'result'; json: string }[]) {
          const long = json.toWellFormed().repeat(times % 50 === 0 ? times : 1)
          lines.add(phase, Buffer.from(long))
          expected += line(phase, long)
        }
        expect(lines.bytes).toBe(Buffer.byteLength(expected))
        expect(lines.take().equals(Buffer.from(expected))).toBe(true)
        expect(lines.take()).toHaveLength(0)
      }),
    )
  })
})
