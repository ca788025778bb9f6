import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { line } from '../../../sidecar/journal/line.ts'
import { IntactLines, readIntact } from '../../../sidecar/journal/recovery/intact-segment.ts'
import { findDamage, resultsOf } from '../../../sidecar/journal/recovery/recover.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { trafficRecord } from './traffic-record.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-intact-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

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

type Found = Map<string, string>
const idOf = (json: Buffer): string => JSON.parse(json.toString()).id
const parsedOf = (segment: Buffer): Found =>
  new Map([...resultsOf(segment)].map(([id, json]) => [id, json.toString()]))

/** Null when the segment is left to parsing. */
async function readResults(segment: Buffer, count: number): Promise<Found | null> {
  const found: Found = new Map()
  const path = join(folder, 'segment')
  writeFileSync(path, segment)
  const isIntact = await readIntact(path, written(count), (json) => found.set(idOf(json), json.toString()))
  return isIntact ? found : null
}

/** As `readResults`, without a file. */
function takeResults(segment: Buffer, count: number): Found | null {
  const found: Found = new Map()
  const lines = new IntactLines((json) => found.set(idOf(json), json.toString()))
  return lines.take(segment) === segment.length && lines.count === count ? found : null
}

test('the results of an undamaged segment are those that parsing finds', async () => {
  const segment = segmentOf(5)
  const found = await readResults(segment, 5)
  expect(found).toEqual(parsedOf(segment))
  expect([...(found?.keys() ?? [])]).toEqual(['rec_0', 'rec_1', 'rec_2', 'rec_3', 'rec_4'])
})

test('a segment of several pieces has all its results', async () => {
  const segment = segmentOf(2_000)
  expect(segment.length).toBeGreaterThan(2 ** 21)
  expect(await readResults(segment, 2_000)).toEqual(parsedOf(segment))
})

test('a segment whose last line is cut, or with a line longer than a piece, is left to parsing', async () => {
  const long = Buffer.from(line('result', jsonOf(0, `/${'x'.repeat(600_000)}`)))
  expect(await readResults(long, 1)).toBeNull()
  expect(await readResults(segmentOf(2).subarray(0, -1), 2)).toBeNull()
  expect(await readIntact(join(folder, 'gone'), [], () => undefined)).toBe(false)
})

test('a segment with a changed bit, or cut anywhere, is left to parsing unless all its results are there', () => {
  const segment = segmentOf(2)
  let isNoticed = false
  for (let at = 0; at < segment.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const damaged = Buffer.from(segment)
      damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
      const found = takeResults(damaged, 2)
      // A blank line more or less changes no record.
      if (found !== null) expect(found).toEqual(parsedOf(segment))
    }
    const cut = takeResults(segment.subarray(0, at), 2)
    // Nothing is lost with the last line, which is no result.
    if (cut === null) isNoticed = true
    else expect(cut).toEqual(parsedOf(segment))
  }
  expect(isNoticed).toBe(true)
})

test('a segment that lacks a whole line is left to parsing, which reports the damage', async () => {
  const lines = segmentOf(3).toString().split('\n')
  const [missing] = lines.flatMap((text, at) => (text.includes('"result"') ? [at] : []))
  const segment = Buffer.from(lines.filter((_, at) => at !== missing).join('\n'))
  expect(await readResults(segment, 3)).toBeNull()
  expect(findDamage(segment, 'proc_1-1.jsonl', written(3))?.unknown).toHaveLength(1)
})

test('a segment of a gateway without checksums is left to parsing', async () => {
  const segment = Buffer.from(`{"phase":"result","record":${jsonOf(0)}}\n`)
  expect(await readResults(segment, 1)).toBeNull()
  expect([...resultsOf(segment).keys()]).toEqual(['rec_0'])
})

test.each(['a"b', 'a\\b', 'é', 'x'.repeat(200)])(
  'the id %s, which is no record id, is left to parsing',
  async (id) => {
    const segment = Buffer.from(line('result', recordJson(trafficRecord({ id }))))
    expect(await readResults(segment, 1)).toBeNull()
    expect([...resultsOf(segment).keys()]).toEqual([id])
  },
)
