import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { TrafficRecord } from '../../../core/record.ts'
import { Journal } from '../../../sidecar/journal/journal.ts'
import type { JournalDeps } from '../../../sidecar/journal/journal-deps.ts'
import type { LostRange } from '../../../sidecar/journal/lost-ranges.ts'
import type { OpenIntent } from '../../../sidecar/pipeline/ports.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { eventually } from '../../support/eventually.ts'
import { seeded, size } from '../../support/proof.ts'
import { createTestLog } from '../control/test-log.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { trafficRecord } from './traffic-record.ts'

let root = ''
let dir = ''
let disk: SimulatedDisk
const open: Journal[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-sync-'))
  dir = join(root, 'journal')
  disk = new SimulatedDisk()
})
afterEach(() => {
  for (const journal of open.splice(0)) journal.close()
  rmSync(root, { recursive: true, force: true })
})

function journalOf(changes: Partial<JournalDeps> = {}): Journal {
  const journal = new Journal({
    ...{ dir, processId: 'proc_1', maxBytes: 1 << 20, log: createTestLog(), probeMs: 10 },
    ...{ files: disk.files, isSync: () => true },
    ...changes,
  })
  open.push(journal)
  return journal
}

/** A process that starts after the power loss, on real files. */
function afterPowerLoss(extra = 0): Journal {
  const left = join(mkdtempSync(join(root, 'left-')), 'journal')
  mkdirSync(left)
  disk.losePower(left, extra)
  const journal = new Journal({ dir: left, processId: 'proc_2', maxBytes: 1 << 20, log: createTestLog() })
  open.push(journal)
  return journal
}

const recordOf = (journal: Journal, changes: Partial<TrafficRecord> = {}) => {
  const seq = journal.nextSeq()
  return trafficRecord({ id: `rec_${seq}`, seq, process_id: 'proc_1', ...changes })
}
const finish = (journal: Journal, record: TrafficRecord, intent?: OpenIntent) =>
  journal.result(record, Buffer.from(recordJson(record)), intent)
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
/** Answers the flushes that wait, and all that follow at once. */
function letGo(): void {
  const held = disk.held ?? []
  disk.held = null
  for (const answer of held) answer()
}
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  for (let n = 0; n < 5; n++) await turn()
  return Promise.race([promise.then(() => true), turn().then(() => false)])
}

async function collect(journal: Journal) {
  const records = new Map<string, TrafficRecord>()
  const lost: LostRange[] = []
  for (;;) {
    const batch = await journal.nextBatch(10_000)
    lost.push(...batch.lost)
    for (const [id, json] of batch.records) records.set(id, JSON.parse(json.toString()) as TrafficRecord)
    if (batch.records.size === 0 && batch.lost.length === 0) return { records, lost }
    journal.acknowledge(batch.records.keys(), batch.lost)
  }
}

const numbersOf = (ranges: readonly LostRange[]) =>
  ranges.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, n) => from + n))

describe('an intent with audit: sync', () => {
  test('counts as written once it is on disk', async () => {
    const journal = journalOf()
    expect(disk.calls, 'the folder has the entry of the segment').toContain('fsync folder journal')
    disk.calls.length = 0
    disk.held = []
    const { written } = journal.intent(recordOf(journal))
    expect(await isSettled(written)).toBe(false)
    letGo()
    await written
    expect(disk.calls).toEqual([
      ...['write proc_1-1.jsonl', 'fdatasync proc_1-1.jsonl', 'flushed proc_1-1.jsonl'],
    ])
  })

  test('in a new segment counts as written once the segment and its folder entry are on disk', async () => {
    const journal = journalOf()
    const large = recordOf(journal, { path: 'x'.repeat(140_000) })
    const intent = journal.intent(large)
    await intent.written
    finish(journal, large, intent)
    for (const { records, lost } of [await journal.nextBatch(1)]) journal.acknowledge(records.keys(), lost)
    await eventually('the new segment', () => (disk.calls.includes('rm proc_1-1.jsonl') ? true : null))
    disk.calls.length = 0
    disk.held = []
    const { written } = journal.intent(recordOf(journal, { path: 'x'.repeat(140_000) }))
    await eventually('the next segment', () =>
      disk.calls.includes('fdatasync proc_1-3.jsonl') ? true : null,
    )
    const second = journal.intent(recordOf(journal)).written
    expect(await isSettled(second)).toBe(false)
    letGo()
    await Promise.all([written, second])
    const data = disk.calls.indexOf('flushed proc_1-3.jsonl')
    expect(data).toBeGreaterThan(-1)
    expect(disk.calls.indexOf('fsync folder journal', data)).toBeGreaterThan(data)
  })

  test('shares a flush with all that wait; those that arrive during a flush share the next', async () => {
    const journal = journalOf()
    await journal.intent(recordOf(journal)).written
    disk.calls.length = 0
    disk.held = []
    const all = [journal.intent(recordOf(journal)).written]
    await eventually('the first flush', () => (disk.held?.length === 1 ? true : null))
    for (let n = 0; n < 20; n++) {
      all.push(journal.intent(recordOf(journal)).written)
      await turn()
    }
    expect(disk.calls.filter((call) => call.startsWith('fdatasync'))).toHaveLength(1)
    letGo()
    await Promise.all(all)
    expect(disk.calls.filter((call) => call.startsWith('fdatasync'))).toHaveLength(2)
  })

  test('survives a power loss; without the setting it does not, and nothing is flushed', async () => {
    const journal = journalOf()
    await journal.intent(recordOf(journal)).written
    const { records } = await collect(afterPowerLoss())
    expect([...records.values()]).toMatchObject([{ id: 'rec_0', note: 'unknown', process_id: 'proc_1' }])

    const asynchronous = journalOf({ processId: 'proc_async', isSync: () => false, dir: join(root, 'async') })
    disk.calls.length = 0
    await asynchronous.intent(trafficRecord({ id: 'rec_async', process_id: 'proc_async' })).written
    expect(disk.calls).toEqual(['write proc_async-1.jsonl'])
    expect((await collect(afterPowerLoss())).records.has('rec_async')).toBe(false)
  })

  test('is durable from the next request on when the Gateway changes to sync', async () => {
    let isSync = false
    const journal = journalOf({ isSync: () => isSync })
    for (let n = 0; n < 10; n++) await journal.intent(recordOf(journal)).written
    isSync = true
    await journal.intent(recordOf(journal)).written
    const { records, lost } = await collect(afterPowerLoss())
    expect(records.has('rec_10')).toBe(true)
    expect(
      numbersOf(lost).filter((seq) => seq < 11),
      'numbers from before are not missed',
    ).toEqual([])
  })
})

describe('the disk that fails', () => {
  const EIO = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' })

  test('a flush that fails refuses every intent that waited, with the reason and the remedy', async () => {
    const failed: string[] = []
    const metrics = { synced: () => undefined, failed: (operation: string) => void failed.push(operation) }
    const journal = journalOf({ metrics, probeMs: 60_000 })
    await journal.intent(recordOf(journal)).written
    disk.failure = EIO
    const two = [recordOf(journal), recordOf(journal)].map((each) => journal.intent(each).written)
    for (const each of await Promise.allSettled(two)) {
      expect(each).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'journal_unavailable',
          message: expect.stringMatching(/EIO.*Free disk space, replace/),
        },
      })
    }
    expect(journal.state).toBe('unwritable')
    expect(failed).toEqual(['sync'])
    expect(() => journal.intent(recordOf(journal))).toThrow('EIO')
  })

  test('is final for its file: open lines move to a new segment, which is flushed first', async () => {
    const journal = journalOf()
    const kept = recordOf(journal)
    const keptIntent = journal.intent(kept)
    await keptIntent.written
    const refusal = recordOf(journal, { decision: 'DENY' })
    finish(journal, refusal)
    disk.failure = EIO
    await expect(journal.intent(recordOf(journal)).written).rejects.toThrow('EIO')
    await eventually('some retries', () =>
      disk.calls.filter((call) => call.startsWith('rm')).length > 2 ? true : null,
    )
    expect(journal.state).toBe('unwritable')
    disk.failure = null
    await eventually('recovery', () => (journal.state === 'ok' ? true : null))
    expect(disk.calls.indexOf('rm proc_1-1.jsonl')).toBeGreaterThan(
      disk.calls.lastIndexOf('flushed proc_1-2.jsonl'),
    )
    await journal.intent(recordOf(journal)).written
    const { records, lost } = await collect(afterPowerLoss())
    expect([...records.keys()].sort()).toEqual(['rec_0', 'rec_1', 'rec_3'])
    expect(
      numbersOf(lost).filter((seq) => seq < 4),
      'of the refused intent a result comes later',
    ).toEqual([2])
  })

  test('a flush that does not return counts as failed, and its descriptor stays open until it does', async () => {
    const journal = journalOf({ syncTimeoutMs: 20 })
    await journal.intent(recordOf(journal)).written
    disk.held = []
    await expect(journal.intent(recordOf(journal)).written).rejects.toThrow('did not complete a flush')
    expect(journal.state).toBe('unwritable')
    await eventually('the hung flush', () => (disk.held?.length === 1 ? true : null))
    expect(disk.calls.filter((call) => call === 'close proc_1-1.jsonl')).toEqual([])
    letGo()
    await eventually('recovery', () => (journal.state === 'ok' ? true : null))
    await journal.intent(recordOf(journal)).written
  })

  test('a descriptor is never closed during its flush, neither by a rotation nor by the end', async () => {
    const journal = journalOf({ maxBytes: 64 * 1024 })
    await journal.intent(recordOf(journal)).written
    disk.held = []
    const waiting = journal.intent(recordOf(journal, { path: 'x'.repeat(20_000) })).written
    await eventually('the flush', () => (disk.held?.length ? true : null))
    journal.flush()
    journal.close()
    open.splice(open.indexOf(journal), 1)
    const inFlight = new Map<string, number>()
    for (const call of disk.calls) {
      const [operation = '', name = ''] = call.split(' ')
      if (operation === 'fdatasync') inFlight.set(name, (inFlight.get(name) ?? 0) + 1)
      if (operation === 'close')
        expect(inFlight.get(name) ?? 0, call).toBe(disk.calls.includes(`flushed ${name}`) ? 1 : 0)
    }
    for (let n = 0; n < 10; n++) {
      disk.release()
      await turn()
    }
    await waiting
    expect(disk.calls.filter((call) => /^close proc_1-\d/.test(call)).length).toBeGreaterThan(0)
  })
})

describe('segments with audit: sync', () => {
  test('an old one is deleted only when what was carried from it is on the disk', async () => {
    const journal = journalOf({ maxBytes: 64 * 1024 })
    const carried = journal.intent(recordOf(journal))
    await carried.written
    const large = recordOf(journal, { path: 'x'.repeat(20_000) })
    const intent = journal.intent(large)
    await intent.written
    disk.held = []
    finish(journal, large, intent)
    journal.flush()
    const batch = await journal.nextBatch(10)
    expect([...batch.records.keys()]).toEqual([large.id])
    journal.acknowledge(batch.records.keys(), batch.lost)
    expect(readdirSync(dir).sort()).toEqual(['proc_1-1.jsonl', 'proc_1-2.jsonl'])
    const { records } = await collect(afterPowerLoss())
    expect(records.has('rec_0')).toBe(true)
    letGo()
    await eventually('the deletion', () => (readdirSync(dir).length === 1 ? true : null))
    const after = await collect(afterPowerLoss())
    expect(after.records.get('rec_0')).toMatchObject({ note: 'unknown' })
    expect(numbersOf(after.lost).filter((seq) => seq < 2)).toEqual([])
  })
})

describe('the sequence', () => {
  test('reveals records lost at its end by a power loss, and reports at most 64 unused numbers', async () => {
    const journal = journalOf()
    for (let n = 0; n < 10; n++) await journal.intent(recordOf(journal)).written
    for (let n = 0; n < 15; n++) finish(journal, recordOf(journal, { decision: 'DENY' }))
    journal.flush()
    const { records, lost } = await collect(afterPowerLoss())
    expect(records.size).toBe(10)
    const numbers = numbersOf(lost)
    for (let seq = 10; seq < 25; seq++) expect(numbers).toContain(seq)
    expect(numbers.filter((seq) => seq >= 25).length).toBeLessThanOrEqual(64)
    expect(numbers.filter((seq) => seq < 10)).toEqual([])
  })

  test('of a process that ended has no gap', async () => {
    const journal = journalOf()
    for (let n = 0; n < 10; n++) await journal.intent(recordOf(journal)).written
    journal.close()
    open.splice(open.indexOf(journal), 1)
    const next = journalOf({ processId: 'proc_2' })
    const { records, lost } = await collect(next)
    expect([records.size, lost]).toEqual([10, []])
  })

  test('gaps are on disk before the segments that show them are deleted, and are reported until they are stored', async () => {
    const journal = journalOf()
    await journal.intent(recordOf(journal)).written
    // The process is gone; each of the next is killed as well before it reports anything.
    const first = await journalOf({ processId: 'proc_2' }).nextBatch(10)
    expect(first.lost).toMatchObject([{ process_id: 'proc_1', from: 1 }])
    const deletion = disk.calls.indexOf('rm proc_1-1.jsonl')
    expect(deletion).toBeGreaterThan(disk.calls.indexOf('fsync proc_2-1.jsonl'))
    expect(disk.calls.slice(0, deletion)).toContain('fsync folder journal')
    const second = journalOf({ processId: 'proc_3' })
    const batch = await second.nextBatch(10)
    expect(batch.lost).toEqual([...first.lost, { process_id: 'proc_2', from: 0, to: 63 }])
    second.acknowledge(batch.records.keys(), batch.lost)
    expect((await second.nextBatch(10)).lost).toEqual([])
  })
})

describe('a power loss at any moment', () => {
  test.each(Array.from({ length: size(20, 600) }, (_, seed) => seed))(
    'leaves a record of everything that was forwarded, and no gap without a report (%i)',
    async (seed) => {
      const random = seeded(seed)
      const journal = journalOf({ maxBytes: 96 * 1024, syncTimeoutMs: 600_000 })
      const world = new Workload(journal, disk, random)
      const steps = 20 + Math.floor(random() * 200)
      for (let n = 0; n < steps; n++) await world.step()
      world.isOver = true
      const forwarded = [...world.forwarded]
      const isDiskAway = disk.failure !== null || journal.state === 'unwritable'
      const next = journal.nextSeq()
      const { records, lost } = await collect(afterPowerLoss(random() < 0.5 ? 0 : random()))
      const known = new Set([...world.stored.keys(), ...records.keys()])
      for (const id of forwarded) expect(known.has(id), `${id} has no record`).toBe(true)

      const numbers = new Set([...world.stored.values(), ...[...records.values()].map(({ seq }) => seq)])
      const reported = new Set([...world.reported, ...numbersOf(lost)])
      // With the disk away as well, a gap shows only by the higher numbers that the control plane got.
      const highest = isDiskAway ? -1 : Math.max(-1, ...numbers)
      for (let seq = 0; seq <= highest; seq++)
        expect(numbers.has(seq) || reported.has(seq), `${seq} is missing`).toBe(true)
      expect(numbersOf(lost).filter((seq) => world.durable.has(seq))).toEqual([])
      expect([...reported].filter((seq) => seq >= next).length).toBeLessThanOrEqual(64)
    },
  )
})

/** Requests, refusals, acknowledgements, flushes that hang and fail, in an order that the seed decides. */
class Workload {
  readonly forwarded = new Set<string>()
  /** What the control plane has: number by record id. */
  readonly stored = new Map<string, number>()
  readonly reported = new Set<number>()
  /** Sequence numbers that were assigned while the disk worked. The journal must never report them as lost. */
  readonly durable = new Set<number>()
  /** The power is off. */
  isOver = false
  #isUploading = false
  readonly #journal: Journal
  readonly #disk: SimulatedDisk
  readonly #random: () => number
  readonly #open: Array<{ record: TrafficRecord; intent: OpenIntent }> = []

  constructor(journal: Journal, disk: SimulatedDisk, random: () => number) {
    this.#journal = journal
    this.#disk = disk
    this.#random = random
  }

  async step(): Promise<void> {
    const roll = this.#random()
    if (roll < 0.35) this.#begin()
    else if (roll < 0.55) this.#finish()
    else if (roll < 0.65) this.#refuse()
    else if (roll < 0.72) this.#acknowledge()
    else if (roll < 0.77) this.#disk.held ??= []
    else if (roll < 0.85) letGo()
    else if (roll < 0.87) this.#disk.failure = new Error('EIO')
    else if (roll < 0.92) this.#disk.failure = null
    else for (let n = 0; n < 4; n++) await turn()
  }

  #record(decision: 'ALLOW' | 'DENY'): TrafficRecord {
    const path = 'x'.repeat(Math.floor(this.#random() * 3_000))
    return recordOf(this.#journal, { path, decision })
  }

  #begin(): void {
    const record = this.#record('ALLOW')
    try {
      const intent = this.#journal.intent(record)
      intent.written.then(
        () => {
          this.forwarded.add(record.id)
          this.#open.push({ record, intent })
        },
        () => finish(this.#journal, record, intent),
      )
    } catch {
      finish(this.#journal, record)
    }
  }

  #finish(): void {
    const at = Math.floor(this.#random() * this.#open.length)
    const [each] = this.#open.splice(at, 1)
    if (each !== undefined) finish(this.#journal, each.record, each.intent)
  }

  #refuse(): void {
    for (let n = 0; n < this.#random() * 8; n++) finish(this.#journal, this.#record('DENY'))
  }

  /** The control plane takes a batch, as soon as the journal hands it out. */
  #acknowledge(): void {
    if (this.#isUploading) return
    this.#isUploading = true
    void this.#upload().finally(() => {
      this.#isUploading = false
    })
  }

  async #upload(): Promise<void> {
    // The folder of a test that is over may be gone while its last batch is read.
    const batch = await this.#journal.nextBatch(50).catch((error: unknown) => {
      if (this.isOver) return null
      throw error
    })
    if (this.isOver || batch === null) return
    const { records, lost } = batch
    const isDurable = this.#journal.state !== 'unwritable'
    for (const [id, json] of records) {
      const { seq } = JSON.parse(json.toString()) as TrafficRecord
      this.stored.set(id, seq)
      if (isDurable) this.durable.add(seq)
    }
    for (const seq of numbersOf(lost)) this.reported.add(seq)
    this.#journal.acknowledge(records.keys(), lost)
  }
}
