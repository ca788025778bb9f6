import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../../core/record.ts'
import { createControlClient } from '../../../sidecar/control/client/client.ts'
import {
  createUploader,
  type RecordSource,
  type Uploader,
} from '../../../sidecar/control/records/record-uploader.ts'
import { Journal } from '../../../sidecar/journal/journal.ts'
import { type LostRange, mergeRanges } from '../../../sidecar/journal/lost-ranges.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { eventually } from '../../support/eventually.ts'
import { trafficRecord } from '../journal/traffic-record.ts'
import { FakeControlPlane, TOKEN } from './fake-control-plane.ts'
import { createTestLog } from './test-log.ts'

const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

let dir = ''
let fake: FakeControlPlane
let uploader: Uploader
let journal: Journal
const log = createTestLog()

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-records-'))
  fake = await FakeControlPlane.start()
  journal = new Journal({
    dir,
    processId: 'proc_1',
    maxBytes: 1 << 20,
    log,
    onBatchReady: () => uploader.wake(),
  })
  const client = createControlClient({ url: fake.url, token: TOKEN, processId: 'proc_1' })
  uploader = createUploader({ client, journal, random: Math.random, log })
  uploader.start()
})
afterEach(async () => {
  await uploader.close(1_000)
  journal.close()
  await fake.stop()
  rmSync(dir, { recursive: true, force: true })
})

const put = (record: TrafficRecord) => journal.result(record, Buffer.from(recordJson(record)))

describe('records', () => {
  test('reach the control plane complete and in order, and leave the journal', async () => {
    const records = Array.from({ length: 1_200 }, (_, n) =>
      trafficRecord({ id: `rec_${n}`, seq: n, ...(n % 7 === 0 ? { note: `ünïcödé — "${n}"\n` } : {}) }),
    )
    for (const record of records) put(record)
    await until('upload', () => fake.records.length === 1_200)
    expect(fake.records).toEqual(records)
    await until('trim', () => journal.pending === 0)
  })

  test('stay in the journal during an outage of the control plane, and arrive exactly once afterwards', async () => {
    fake.recordsStatus = 503
    for (let n = 0; n < 10; n++) put(trafficRecord({ id: `rec_${n}`, seq: n }))
    await until('attempts', () => fake.paths.filter((path) => path.endsWith('/records')).length >= 2)
    expect(journal.pending).toBe(10)
    fake.recordsStatus = 200
    await until('upload', () => fake.records.length === 10)
    await until('trim', () => journal.pending === 0)
    expect(new Set(fake.records.map((record) => record.id)).size).toBe(10)
  })

  test('over the ingest quota stay in the journal for as long as the control plane says, and are counted', async () => {
    fake.recordsStatus = 429
    fake.recordsReply = { retry_after: 1 }
    const attempts = () => fake.times.filter((_, at) => fake.paths[at]?.endsWith('/records'))
    for (let n = 0; n < 1_500; n++) put(trafficRecord({ id: `rec_${n}`, seq: n }))
    await until('the refusal', () => uploader.deferrals === 1)
    await until('another attempt', () => attempts().length === 2)
    const [refused, next] = attempts()
    expect((next ?? 0) - (refused ?? 0)).toBeGreaterThan(900)
    expect(journal.pending).toBe(1_500)
    fake.recordsStatus = 200
    await until('upload', () => fake.records.length === 1_500)
    await until('trim', () => journal.pending === 0)
    expect(journal.lost).toBe(0)
    expect(log.text()).toContain('the ingest quota is used up')
  })

  test('an invalid record does not block the others', async () => {
    fake.poison.add('rec_3')
    for (let n = 0; n < 8; n++) put(trafficRecord({ id: `rec_${n}`, seq: n }))
    await until('upload', () => fake.records.length === 7)
    await until('trim', () => journal.pending === 0)
    expect(fake.records.map((record) => record.id)).not.toContain('rec_3')
    expect(log.text()).toContain('rejects this record as invalid')
    expect(fake.lost).toEqual([{ process_id: 'proc_1', from: 3, to: 3, reason: 'unreadable' }])
    expect(journal.lost).toBe(1)
  })

  test('of another owner do not block others, and are reported as lost before they leave the journal', async () => {
    fake.foreign.process_ids.add('proc_old')
    fake.foreign.agents.add('moved')
    fake.recordsStatus = 503
    for (let n = 0; n < 700; n++) put(trafficRecord({ id: `old_${n}`, process_id: 'proc_old', seq: n }))
    for (let n = 0; n < 3; n++) put(trafficRecord({ id: `moved_${n}`, agent: 'moved', seq: n * 2 }))
    for (let n = 0; n < 700; n++) put(trafficRecord({ id: `rec_${n}`, seq: 10 + n }))
    fake.recordsStatus = 200
    await until('the others', () => fake.records.length === 700)
    await until('trim', () => journal.pending === 0)
    expect(fake.records.every(({ id }) => id.startsWith('rec_'))).toBe(true)
    const refused = (process_id: string, from: number, to: number) => ({
      process_id,
      from,
      to,
      reason: 'refused',
    })
    expect(mergeRanges(fake.lost as LostRange[])).toEqual([
      ...[refused('proc_1', 0, 0), refused('proc_1', 2, 2), refused('proc_1', 4, 4)],
      refused('proc_old', 0, 699),
    ])
    expect(journal.lost).toBe(703)
    expect(log.text()).toContain('rejects records that belong to another gateway')
  })

  test('that are refused one by one do not block others of the same agent', async () => {
    fake.foreign.record_ids.add('rec_1')
    fake.recordsStatus = 503
    for (let n = 0; n < 3; n++) put(trafficRecord({ id: `rec_${n}`, agent: 'moved', seq: n }))
    fake.recordsStatus = 200
    await until('the others', () => fake.records.length === 2)
    await until('trim', () => journal.pending === 0)
    expect(fake.records.map(({ id }) => id)).toEqual(['rec_0', 'rec_2'])
    expect(fake.lost).toEqual([{ process_id: 'proc_1', from: 1, to: 1, reason: 'refused' }])
  })

  test.each<[string, object]>([
    ['names nothing', {}],
    ['names other processes', { refused: { process_ids: ['proc_x'] } }],
    ['names other agents', { refused: { agents: ['x', ''] } }],
    ['names other records', { refused: { record_ids: ['rec_x'] } }],
    ['names this process', { refused: { process_ids: ['proc_1'] } }],
    ['cannot be read', { refused: 'proc_1' }],
    ['has lists of something else', { refused: { process_ids: [1], agents: {} } }],
  ])('stay in the journal while a 403 %s', async (_what, reply) => {
    fake.recordsStatus = 403
    fake.recordsReply = reply
    put(trafficRecord({ id: 'rec_0', agent: null }))
    await until('attempts', () => fake.paths.filter((path) => path.endsWith('/records')).length >= 2)
    expect([journal.pending, journal.lost]).toEqual([1, 0])
    fake.recordsStatus = 200
    await until('upload', () => fake.records.length === 1)
    expect(fake.lost).toEqual([])
  })

  test('that were never written are reported in chunks', async () => {
    const lost = Array.from({ length: 2_500 }, (_, n) => ({ process_id: 'proc_1', from: n * 2, to: n * 2 }))
    const left = [...lost]
    const source: RecordSource = {
      processId: 'proc_2',
      nextBatch: async () => ({ records: new Map(), lost: left.slice(0, 1_000) }),
      acknowledge: (_ids, ranges) => void left.splice(0, ranges.length),
      abandon: () => expect.unreachable(),
    }
    const client = createControlClient({ url: fake.url, token: TOKEN, processId: 'proc_2' })
    const other = createUploader({ client, journal: source, random: Math.random, log })
    other.start()
    await until('all ranges', () => fake.lost.length === 2_500)
    await other.close(1_000)
    expect(fake.lost).toEqual(lost)
  })

  test('are uploaded before the process ends, and nothing stays on disk', async () => {
    put(trafficRecord({ id: 'rec_last', seq: 0 }))
    await uploader.close(1_000)
    journal.close()
    expect(fake.records.map((record) => record.id)).toEqual(['rec_last'])
    expect(readdirSync(dir)).toEqual([])
    journal = new Journal({ dir, processId: 'proc_2', maxBytes: 1 << 20, log })
  })
})
