import { expect, test } from 'vitest'
import { line } from '../../../sidecar/journal/line.ts'
import { intactResults } from '../../../sidecar/journal/recovery/intact-segment.ts'
import { findDamage, resultsOf } from '../../../sidecar/journal/recovery/recover.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { trafficRecord } from './traffic-record.ts'

const PROCESS = 'proc_1'
const jsonOf = (seq: number, path = '/é') => recordJson(trafficRecord({ id: `rec_${seq}`, seq, path }))
/** An intent and a result of each record, and the other kinds of lines. */
const segmentOf = (count: number): Buffer => {
  const calls = Array.from(
    { length: count },
    (_, seq) => line('intent', jsonOf(seq)) + line('result', jsonOf(seq)),
  )
  const sequence = line('sequence', JSON.stringify({ id: PROCESS, base: 0, reserved: count }))
  return Buffer.from(`${sequence}\n${calls.join('')}${line('dropped', JSON.stringify({ id: 'rec_9' }))}`)
}
const written = (count: number) => [{ process_id: PROCESS, from: 0, to: count - 1 }]

test('the results of an undamaged segment are those that parsing finds', () => {
  const segment = segmentOf(5)
  expect(intactResults(segment, written(5))).toEqual(resultsOf(segment))
  expect([...(intactResults(segment, written(5))?.keys() ?? [])]).toEqual([
    'rec_0',
    'rec_1',
    'rec_2',
    'rec_3',
    'rec_4',
  ])
})

test('a segment with a changed bit, or cut anywhere, is left to parsing unless all its results are there', () => {
  const segment = segmentOf(2)
  let isNoticed = false
  for (let at = 0; at < segment.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const damaged = Buffer.from(segment)
      damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
      const found = intactResults(damaged, written(2))
      // A blank line more or less changes no record.
      if (found !== null) expect(found).toEqual(resultsOf(segment))
    }
    const cut = intactResults(segment.subarray(0, at), written(2))
    // Nothing is lost with the last line, which is no result.
    if (cut === null) isNoticed = true
    else expect(cut).toEqual(resultsOf(segment))
  }
  expect(isNoticed).toBe(true)
})

test('a segment that lacks a whole line is left to parsing, which reports the damage', () => {
  const lines = segmentOf(3).toString().split('\n')
  const [missing] = lines.flatMap((text, at) => (text.includes('"result"') ? [at] : []))
  const segment = Buffer.from(lines.filter((_, at) => at !== missing).join('\n'))
  expect(intactResults(segment, written(3))).toBeNull()
  expect(findDamage(segment, 'proc_1-1.jsonl', written(3))?.unknown).toHaveLength(1)
})

test('a segment of a gateway without checksums is left to parsing', () => {
  const segment = Buffer.from(`{"phase":"result","record":${jsonOf(0)}}\n`)
  expect(intactResults(segment, written(1))).toBeNull()
  expect([...resultsOf(segment).keys()]).toEqual(['rec_0'])
})

test.each(['a"b', 'a\\b', 'é', 'x'.repeat(200)])(
  'the id %s, which is no record id, is left to parsing',
  (id) => {
    const segment = Buffer.from(line('result', recordJson(trafficRecord({ id }))))
    expect(intactResults(segment, written(1))).toBeNull()
    expect([...resultsOf(segment).keys()]).toEqual([id])
  },
)
