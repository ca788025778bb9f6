import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal } from '../../sidecar/journal/journal.ts'
import type { LostRange } from '../../sidecar/journal/lost-ranges.ts'
import { recordJson } from '../../sidecar/pipeline/record/record-json.ts'
import { createTestLog } from '../sidecar/control/test-log.ts'
import { trafficRecord } from '../sidecar/journal/traffic-record.ts'
import { seeded, size } from '../support/proof.ts'

const CALLS = 60
let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-damage-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

type Stored = {
  readonly id: string
  readonly seq: number
  readonly note: string | null
  readonly path: string
}

/** Calls of a process that ends without `close`: each third has an intent only, others an intent and a result, or only a result. */
function write(log = createTestLog()): Map<number, Stored> {
  const journal = new Journal({ dir, processId: 'proc_1', maxBytes: 64 << 20, log })
  const calls = new Map<number, Stored>()
  for (let n = 0; n < CALLS; n++) {
    const record = trafficRecord({
      ...{ id: `rec_${n}`, seq: journal.nextSeq(), process_id: 'proc_1', path: `/things/${n}`, note: null },
    })
    calls.set(record.seq, record as Stored)
    const intent = n % 3 === 2 ? undefined : journal.intent(record)
    intent?.written.catch(() => undefined)
    if (n % 3 !== 0) journal.result(record, Buffer.from(recordJson(record)), intent)
    journal.flush()
  }
  return calls
}

const file = () => join(dir, readdirSync(dir).find((name) => name.startsWith('proc_1-')) ?? '')

async function recover(log = createTestLog()): Promise<{ stored: Stored[]; lost: readonly LostRange[] }> {
  const journal = new Journal({ dir, processId: 'proc_2', maxBytes: 64 << 20, log })
  const stored: Stored[] = []
  let lost: readonly LostRange[] = []
  for (;;) {
    const batch = await journal.nextBatch(1_000)
    lost = batch.lost
    if (batch.records.size === 0) break
    for (const json of batch.records.values()) stored.push(JSON.parse(json.toString()) as Stored)
    journal.acknowledge(batch.records.keys(), [])
  }
  journal.close()
  return { stored, lost }
}

/** Each number is either stored once, as it was or as unknown, or lost. */
function expectExact(
  calls: Map<number, Stored>,
  { stored, lost }: Awaited<ReturnType<typeof recover>>,
): number {
  const lostSeqs = lost.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, n) => from + n))
  const all = [...stored.map(({ seq }) => seq), ...lostSeqs].sort((a, b) => a - b)
  expect(all).toEqual(Array.from({ length: all.length }, (_, n) => n))
  for (const { id, seq, path, note } of stored) {
    expect({ id, path }).toEqual({ id: calls.get(seq)?.id, path: calls.get(seq)?.path })
    expect([null, 'unknown']).toContain(note)
  }
  return lostSeqs.length
}

test('flipped bytes are never stored as truth or twice, and each record that they cost is reported as lost', async () => {
  const random = seeded(3)
  let lost = 0
  for (let round = 0; round < size(15, 300); round++) {
    const calls = write()
    const bytes = readFileSync(file())
    // The last line is left: without it nothing would show that its number was taken.
    const end = bytes.lastIndexOf(10, bytes.length - 2)
    for (let n = 0; n < 10; n++) {
      const at = Math.floor(random() * end)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    }
    writeFileSync(file(), bytes)
    lost += expectExact(calls, await recover())
    rmSync(dir, { recursive: true })
  }
  expect(lost).toBeGreaterThan(0)
})

test('a cut tail ends at a record: what is before it is stored once', async () => {
  const calls = write()
  const bytes = readFileSync(file())
  writeFileSync(file(), bytes.subarray(0, Math.floor(bytes.length / 2)))
  const found = await recover()
  expectExact(calls, found)
  expect(found.stored.length).toBeGreaterThan(10)
})

test('damaged lines are located in the log', async () => {
  write()
  const bytes = readFileSync(file())
  const second = bytes.indexOf(10) + 1
  bytes[second + 40] = (bytes[second + 40] ?? 0) ^ 1
  writeFileSync(file(), bytes)
  const log = createTestLog()
  await recover(log)
  expect(JSON.stringify(log)).toContain(`"tornAt":["proc_1-1.jsonl:${second}"]`)
})
