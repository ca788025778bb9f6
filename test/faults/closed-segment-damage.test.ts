import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal } from '../../sidecar/journal/journal.ts'
import { mergeRanges } from '../../sidecar/journal/lost-ranges.ts'
import { recordJson } from '../../sidecar/pipeline/record/record-json.ts'
import { createTestLog } from '../sidecar/control/test-log.ts'
import { trafficRecord } from '../sidecar/journal/traffic-record.ts'
import { seeded, size } from '../support/proof.ts'

const CALLS = 400
let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-closed-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const MAX_BYTES = 4 << 20
/** Bytes of the padding of a path, so that the records fill several segments. */
const PADDING = 'x'.repeat(2_000)

type Call = { readonly id: string; readonly seq: number; readonly hasIntent: boolean }

/** A journal whose results fill several closed segments while the control plane is away. Each third result has no intent. */
function fill(log = createTestLog()): { readonly journal: Journal; readonly calls: readonly Call[] } {
  const journal = new Journal({ dir, processId: 'proc_1', maxBytes: MAX_BYTES, log })
  const calls: Call[] = []
  for (let n = 0; n < CALLS; n++) {
    const base = { id: `rec_${n}`, seq: journal.nextSeq(), process_id: 'proc_1', note: null }
    const record = trafficRecord({ ...base, path: `/things/${n}/${PADDING}` })
    const intent = n % 3 === 2 ? undefined : journal.intent(record)
    intent?.written.catch(() => undefined)
    journal.result(record, Buffer.from(recordJson(record)), intent)
    journal.flush()
    calls.push({ id: record.id, seq: record.seq, hasIntent: intent !== undefined })
  }
  return { journal, calls }
}

/** Closed segments that are not in memory: all but the first, whose results the journal keeps, and the active one. */
function closedFiles(): readonly string[] {
  const number = (name: string) => Number(/-(\d+)\.jsonl$/.exec(name)?.[1])
  const names = readdirSync(dir).filter((name) => name.endsWith('.jsonl'))
  return names.sort((a, b) => number(a) - number(b)).slice(1, -1)
}

type Uploaded = { readonly id: string; readonly seq: number; readonly note: string | null }

async function upload(journal: Journal): Promise<{ records: Uploaded[]; lost: number[] }> {
  const records: Uploaded[] = []
  for (;;) {
    const batch = await journal.nextBatch(1_000)
    if (batch.records.size === 0) {
      const lost = mergeRanges(batch.lost).flatMap(({ from, to }) =>
        Array.from({ length: to - from + 1 }, (_, n) => from + n),
      )
      return { records, lost }
    }
    for (const json of batch.records.values()) records.push(JSON.parse(json.toString()) as Uploaded)
    journal.acknowledge(batch.records.keys(), [])
  }
}

/** Each number is stored exactly once, or lost exactly once, and a call with an intent that remains is not lost. */
function expectExact(calls: readonly Call[], { records, lost }: Awaited<ReturnType<typeof upload>>): void {
  const all = [...records.map(({ seq }) => seq), ...lost].sort((a, b) => a - b)
  expect(all).toEqual(calls.map(({ seq }) => seq))
  for (const { id, seq, note } of records) {
    expect(id).toBe(calls[seq]?.id)
    expect([null, 'unknown']).toContain(note)
  }
}

test('a result in a closed segment that is damaged while the process runs is recorded from its intent, or lost, once', async () => {
  const log = createTestLog()
  const { journal, calls } = fill(log)
  const [name = ''] = closedFiles()
  const bytes = readFileSync(join(dir, name))
  const flipped: number[] = []
  for (const [n, part] of bytes.toString('latin1').split('\n').entries()) {
    const at = bytes.indexOf(part, flipped.at(-1) ?? 0, 'latin1')
    if (!part.startsWith('{"phase":"result"') || n % 7 !== 0) continue
    bytes[at + 60] = (bytes[at + 60] ?? 0) ^ 1
    flipped.push(at)
  }
  expect(flipped.length).toBeGreaterThan(3)
  writeFileSync(join(dir, name), bytes)
  const found = await upload(journal)
  expectExact(calls, found)
  const unknown = found.records.filter(({ note }) => note === 'unknown')
  expect(unknown.length + found.lost.length).toBe(flipped.length)
  expect(unknown.length).toBeGreaterThan(0)
  expect(found.lost.length).toBeGreaterThan(0)
  expect(journal.lost).toBe(found.lost.length)
  expect(JSON.stringify(log.lines)).toContain(`${name}:${flipped[0]}`)
  journal.close()
})

test('a closed segment that was deleted is reported as lost, and later segments are uploaded', async () => {
  const { journal, calls } = fill()
  const [name = ''] = closedFiles()
  rmSync(join(dir, name))
  const found = await upload(journal)
  expectExact(calls, found)
  expect(found.lost.length).toBeGreaterThan(10)
  journal.close()
})

test('what was reported as lost is not also recorded after a crash', async () => {
  const { journal, calls } = fill()
  const [name = ''] = closedFiles()
  writeFileSync(join(dir, name), '')
  const first = await journal.nextBatch(1_000_000)
  let batch = first
  const stored: Uploaded[] = []
  while (batch.records.size > 0) {
    for (const json of batch.records.values()) stored.push(JSON.parse(json.toString()) as Uploaded)
    journal.acknowledge(batch.records.keys(), [])
    batch = await journal.nextBatch(1_000_000)
  }
  journal.flush()
  // The process is killed: a later process reads what is on disk.
  const next = new Journal({ dir, processId: 'proc_2', maxBytes: MAX_BYTES, log: createTestLog() })
  const later = await upload(next)
  const again = later.records.filter(({ id }) => !stored.some((each) => each.id === id))
  expectExact(calls, { records: [...stored, ...again], lost: later.lost })
  next.close()
})

test('flipped bytes anywhere in closed segments lose nothing silently', async () => {
  const random = seeded(11)
  for (let round = 0; round < size(3, 100); round++) {
    const { journal, calls } = fill()
    for (const name of closedFiles()) {
      const bytes = readFileSync(join(dir, name))
      for (let n = 0; n < 5; n++) {
        const at = Math.floor(random() * bytes.length)
        bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
      }
      writeFileSync(join(dir, name), bytes)
    }
    expectExact(calls, await upload(journal))
    journal.close()
    rmSync(dir, { recursive: true })
  }
})
