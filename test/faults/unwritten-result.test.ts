import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Journal } from '../../sidecar/journal/journal.ts'
import { type JournalFiles, SYSTEM_FILES } from '../../sidecar/journal/segments/files.ts'
import { recordJson } from '../../sidecar/pipeline/record/record-json.ts'
import { createTestLog } from '../sidecar/control/test-log.ts'
import { trafficRecord } from '../sidecar/journal/traffic-record.ts'
import { eventually } from '../support/eventually.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-unwritten-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** A disk that becomes full after the intents were written. */
function fillingDisk() {
  const state = { isFull: false }
  const files: JournalFiles = {
    ...SYSTEM_FILES,
    writeSync(fd, bytes) {
      if (state.isFull) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
      return SYSTEM_FILES.writeSync(fd, bytes)
    },
  }
  return { state, files }
}

function journalOf(processId: string, files: JournalFiles = SYSTEM_FILES): Journal {
  const log = createTestLog()
  return new Journal({ dir, processId, maxBytes: 8 << 20, log, files, probeMs: 5 })
}

const CALLS = 5

/** Forwards calls whose results do not fit on the disk any more. */
async function forwardOntoFullDisk() {
  const disk = fillingDisk()
  const journal = journalOf('proc_1', disk.files)
  const calls = Array.from({ length: CALLS }, (_, n) => {
    const base = { id: `rec_${n}`, seq: journal.nextSeq(), process_id: 'proc_1' }
    const intent = journal.intent(trafficRecord({ ...base, note: null, status: null }))
    return { intent, record: trafficRecord({ ...base, note: null, status: 201 }) }
  })
  journal.flush()
  await Promise.all(calls.map(({ intent }) => intent.written))
  disk.state.isFull = true
  for (const { intent, record } of calls) journal.result(record, Buffer.from(recordJson(record)), intent)
  journal.flush()
  expect(journal.state).toBe('unwritable')
  return { disk, journal }
}

type Stored = { readonly id: string; readonly note: string | null; readonly status: number | null }

async function upload(journal: Journal): Promise<readonly Stored[]> {
  const stored: Stored[] = []
  for (;;) {
    const { records, lost } = await journal.nextBatch(1_000)
    expect(lost).toEqual([])
    if (records.size === 0) return stored
    for (const json of records.values()) stored.push(JSON.parse(json.toString()) as Stored)
    journal.acknowledge(records.keys(), [])
  }
}

const shortOf = (stored: readonly Stored[]) => stored.map(({ id, note, status }) => [id, note, status]).sort()
const all = (note: string | null, status: number | null) =>
  Array.from({ length: CALLS }, (_, n) => [`rec_${n}`, note, status])

test('a result that could not be written is stored once the disk has room, once and not as lost', async () => {
  const { disk, journal } = await forwardOntoFullDisk()
  expect(shortOf(await upload(journal))).toEqual([])
  disk.state.isFull = false
  await eventually('a writable journal', () => (journal.state === 'ok' ? true : null))
  expect(shortOf(await upload(journal))).toEqual(all(null, 201))
  expect(journal.lost).toBe(0)
  journal.close()
})

test('after a crash while the disk is full, each forwarded call is recorded from its intent', async () => {
  await forwardOntoFullDisk()
  const next = journalOf('proc_2')
  expect(shortOf(await upload(next))).toEqual(all('unknown', null))
  next.close()
})

test('after a shutdown while the disk is full, each forwarded call is recorded from its intent', async () => {
  const { journal } = await forwardOntoFullDisk()
  journal.close()
  const next = journalOf('proc_2')
  expect(shortOf(await upload(next))).toEqual(all('unknown', null))
  next.close()
})
