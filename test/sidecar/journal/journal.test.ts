import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../../core/record.ts'
import { Journal } from '../../../sidecar/journal/journal.ts'
import type { JournalDeps } from '../../../sidecar/journal/journal-deps.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { eventually } from '../../support/eventually.ts'
import { createTestLog } from '../control/test-log.ts'
import { trafficRecord } from './traffic-record.ts'

let dir = ''
const open: Journal[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-journal-'))
})
afterEach(() => {
  for (const journal of open.splice(0)) journal.close()
  rmSync(dir, { recursive: true, force: true })
})

function journalOf(processId: string, changes: Partial<JournalDeps> = {}): Journal {
  const journal = new Journal({
    dir,
    processId,
    maxBytes: 1 << 20,
    log: createTestLog(),
    probeMs: 20,
    ...changes,
  })
  open.push(journal)
  return journal
}

const record = (n: number, changes = {}) =>
  trafficRecord({ id: `rec_${n}`, seq: n, process_id: 'proc_1', ...changes })
/** A request from its intent to its result. */
async function pass(journal: Journal, each: TrafficRecord): Promise<void> {
  const intent = journal.intent(each)
  await intent.written
  journal.result(each, Buffer.from(recordJson(each)), intent)
}

/** One that has only a result, such as a refusal. */
const refuse = (journal: Journal, each: TrafficRecord) => journal.result(each, Buffer.from(recordJson(each)))

const idsOf = async (journal: Journal) => [...(await journal.nextBatch(10_000)).records.keys()]
const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

describe('an intent', () => {
  test('is on disk when its promise resolves, together with all others of its turn', async () => {
    const journal = journalOf('proc_1')
    const onDisk = () => readFileSync(join(dir, 'proc_1-1.jsonl'), 'utf8')
    const first = journal.intent(record(0)).written
    const second = journal.intent(record(1)).written
    expect(onDisk()).toBe('')
    await first
    expect(onDisk().match(/"id":"rec_[01]"/g)).toEqual(['"id":"rec_0"', '"id":"rec_1"'])
    await second
  })

  test('that could not be written is not open: the next segment does not carry it', async () => {
    const journal = journalOf('proc_1', { maxBytes: 64 * 1024 })
    const refused = journal.intent(record(0, { path: 'x'.repeat(70_000) }))
    const written = expect(refused.written).rejects.toMatchObject({ code: 'journal_unavailable' })
    journal.flush()
    await written
    expect([...(await collect(journalOf('proc_2'))).records.keys()]).toEqual([])
  })
})

describe('recovery', () => {
  test('an intent without a result becomes one record with the note unknown, exactly once over many restarts', async () => {
    const first = journalOf('proc_1')
    await first.intent(record(0)).written
    await pass(first, record(1))
    first.flush()
    // No close: the process is gone. Every later one dies as well before anything was uploaded.
    for (const next of ['proc_2', 'proc_3']) journalOf(next)
    const last = journalOf('proc_4')
    const { records } = await collect(last)
    expect([...records.keys()].sort()).toEqual(['rec_0', 'rec_1'])
    expect(records.get('rec_0')).toMatchObject({
      note: 'unknown',
      status: null,
      process_id: 'proc_1',
      seq: 0,
    })
    expect(records.get('rec_1')).toMatchObject({ note: null, status: 201 })
    expect(readdirSync(dir).filter((name) => !name.startsWith('proc_4'))).toEqual([])
  })

  test('unacknowledged results are uploaded again under their ids; acknowledged segments are not', async () => {
    const first = journalOf('proc_1')
    for (let n = 0; n < 5; n++) refuse(first, record(n))
    first.flush()
    const second = journalOf('proc_2')
    expect(await idsOf(second)).toEqual(['rec_0', 'rec_1', 'rec_2', 'rec_3', 'rec_4'])
    second.acknowledge(await idsOf(second), [])
    expect(await idsOf(journalOf('proc_3'))).toEqual([])
  })

  test('a truncated line loses that line only', async () => {
    const first = journalOf('proc_1')
    refuse(first, record(0))
    first.flush()
    appendFileSync(join(dir, 'proc_1-1.jsonl'), '{"phase":"result","record":{"id":"rec_1","pro')
    expect(await idsOf(journalOf('proc_2'))).toEqual(['rec_0'])
  })

  test('a file full of nonsense is skipped', async () => {
    writeFileSync(join(dir, 'proc_0-1.jsonl'), '\0\0\0\n{"phase":"intent","record":{"id":"x"}}\n{}\n')
    expect(await idsOf(journalOf('proc_1'))).toEqual([])
  })
})

describe('segments', () => {
  test('rotate, carry open intents over, and are deleted once all their results are acknowledged', async () => {
    const journal = journalOf('proc_1', { maxBytes: 128 * 1024 })
    await journal.intent(record(10_000)).written
    for (let n = 0; n < 60; n++) {
      await pass(journal, record(n))
      journal.flush()
    }
    expect(readdirSync(dir).length).toBeGreaterThan(2)
    const acknowledged = new Set<string>()
    for (let ids = await idsOf(journal); ids.length > 0; ids = await idsOf(journal)) {
      for (const id of ids) acknowledged.add(id)
      journal.acknowledge(ids, [])
    }
    expect(acknowledged.size).toBe(60)
    expect(readdirSync(dir)).toHaveLength(1)
    // The open intent moved to the newest segment: a crash now still finds it, beside the last few in that segment.
    const after = await collect(journalOf('proc_2'))
    expect([...after.records.keys()].filter((id) => !acknowledged.has(id))).toEqual(['rec_10000'])
    expect(after.records.get('rec_10000')).toMatchObject({ note: 'unknown' })
  })

  test('of a long outage are read back from disk completely and in order', async () => {
    const journal = journalOf('proc_1', { maxBytes: 512 * 1024 })
    for (let n = 0; n < 500; n++) {
      refuse(journal, record(n))
      journal.flush()
    }
    expect(readdirSync(dir).length).toBeGreaterThan(3)
    const seen: string[] = []
    for (let ids = await idsOf(journal); ids.length > 0; ids = await idsOf(journal)) {
      seen.push(...ids)
      journal.acknowledge(ids, [])
    }
    expect(seen).toEqual(Array.from({ length: 500 }, (_, n) => `rec_${n}`))
  })
})

describe('a journal that is full or unwritable', () => {
  test('refuses intents when it is full, accepts results of requests in flight, and recovers once trimmed', async () => {
    const journal = journalOf('proc_1', { maxBytes: 64 * 1024 })
    let n = 0
    while (journal.isWritable) {
      await pass(journal, record(n++))
      journal.flush()
    }
    expect(journal.state).toBe('full')
    expect(() => journal.intent(record(n))).toThrow(expect.objectContaining({ code: 'journal_unavailable' }))
    refuse(journal, record(n + 1, { decision: 'DENY' }))
    expect(journal.lost).toBe(0)
    for (let ids = await idsOf(journal); ids.length > 0; ids = await idsOf(journal))
      journal.acknowledge(ids, [])
    expect(journal.state).toBe('ok')
    await journal.intent(record(n + 2)).written
  })

  test('counts lost records, and reports them as ranges until those are stored', async () => {
    const journal = journalOf('proc_1', { maxBytes: 64 * 1024 })
    let n = 0
    while (journal.lost < 3) {
      refuse(journal, record(n++, { decision: 'DENY' }))
      journal.flush()
    }
    const { lost } = await journal.nextBatch(1)
    expect(lost).toEqual([{ process_id: 'proc_1', from: n - 3, to: n - 1 }])
    journal.acknowledge([], lost)
    expect((await journal.nextBatch(1)).lost).toEqual([])
  })

  test.skipIf(!existsSync('/dev/full') && !process.env['CI'])(
    'stops forwarding when the disk is full, goes on denying, and recovers by itself when there is space',
    async () => {
      symlinkSync('/dev/full', join(dir, 'proc_1-1.jsonl'))
      const journal = journalOf('proc_1')
      await expect((async () => journal.intent(record(0)).written)()).rejects.toMatchObject({
        code: 'journal_unavailable',
      })
      expect(journal.state).toBe('unwritable')
      refuse(journal, record(1, { decision: 'DENY' }))
      journal.flush()
      expect(journal.lost).toBe(1)
      rmSync(join(dir, 'proc_1-1.jsonl'))
      await until('recovery', () => journal.state === 'ok')
      await pass(journal, record(2))
      expect(await idsOf(journal)).toEqual(['rec_2'])
    },
  )
})

async function collect(journal: Journal) {
  const records = new Map<string, unknown>()
  for (;;) {
    const batch = await journal.nextBatch(10_000)
    if (batch.records.size === 0) return { records }
    for (const [id, json] of batch.records) {
      expect(records.has(id)).toBe(false)
      records.set(id, JSON.parse(json.toString()))
    }
    journal.acknowledge(batch.records.keys(), [])
  }
}

describe('an aggregate record', () => {
  const tally = (count: number) => ({
    ...{ count, first: '2026-01-02T03:04:05.678Z', last: '2026-01-02T03:05:00.000Z' },
    ...{ distinct_targets: 1, more_targets: false, targets: ['acme/site'], reasons: { permission: count } },
  })
  function rowOf(id: string) {
    let count = 0
    const json = () => recordJson(trafficRecord({ id, seq: 7, decision: 'DENY', refusals: tally(count) }))
    return {
      ...{ id, revision: 1, json },
      tally: () => JSON.stringify({ id, refusals: { ...tally(count), targets: undefined } }),
      add: () => ++count,
    }
  }
  const onDisk = () => readFileSync(join(dir, 'proc_1-1.jsonl'), 'utf8')

  test('is written once in a turn, in full when more than its counters changed', () => {
    const journal = journalOf('proc_1')
    const row = rowOf('rec_row')
    for (let turn = 0; turn < 3; turn++) {
      for (let n = 0; n < 10; n++) {
        row.add()
        journal.updateAggregate(row)
      }
      if (turn === 2) row.revision++
      journal.flush()
    }
    expect(onDisk().match(/"phase":"[a-z]+"/g)).toEqual([
      '"phase":"intent"',
      '"phase":"tally"',
      '"phase":"intent"',
    ])
  })

  test('keeps its last counters after its process crashed, also in a later segment', async () => {
    const journal = journalOf('proc_1', { maxBytes: 64 * 1024 })
    const row = rowOf('rec_row')
    for (let n = 0; n < 400; n++) {
      row.add()
      journal.updateAggregate(row)
      journal.flush()
    }
    expect(existsSync(join(dir, 'proc_1-1.jsonl')), 'the first segment is gone').toBe(false)
    const left = await collect(journalOf('proc_2', { maxBytes: 64 * 1024 }))
    const found = left.records.get('rec_row')
    expect(found).toMatchObject({ refusals: tally(400), note: expect.stringMatching(/^400 refusals from /) })
  })

  test('ends with its result, and is then an ordinary record', async () => {
    const journal = journalOf('proc_1')
    const row = rowOf('rec_row')
    row.add()
    journal.updateAggregate(row)
    const done = trafficRecord({ id: 'rec_row', seq: 7, refusals: tally(1) })
    refuse(journal, done)
    journal.flush()
    expect([...(await collect(journalOf('proc_2'))).records.keys()]).toEqual(['rec_row'])
  })

  test('that could not be written is written in full once the disk recovers', () => {
    const journal = journalOf('proc_1', { maxBytes: 4_096 * 8 })
    const row = rowOf('rec_row')
    row.add()
    refuse(journal, record(1, { path: 'x'.repeat(40_000) }))
    journal.updateAggregate(row)
    journal.flush()
    expect(onDisk()).toBe('')
    row.add()
    journal.updateAggregate(row)
    journal.flush()
    expect(onDisk()).toContain('"phase":"intent"')
  })
})

test('an intent that an aggregate counts has no record, and its sequence number is reused', async () => {
  const journal = journalOf('proc_1')
  const seq = journal.nextSeq()
  const intent = journal.intent(record(seq))
  await intent.written
  journal.drop({ id: `rec_${seq}`, seq }, intent)
  expect(journal.nextSeq()).toBe(seq)
  expect(journal.nextSeq()).toBe(seq + 1)
  journal.flush()
  expect([...(await collect(journalOf('proc_2'))).records.keys()]).toEqual([])
})
