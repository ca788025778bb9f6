import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Backlog, createBacklog } from '../../../sidecar/journal/backlog.ts'
import { Segments } from '../../../sidecar/journal/segments/segments.ts'
import { createTestLog } from '../control/test-log.ts'
import { SimulatedDisk } from './simulated-disk.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-segments-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const turns = async (n: number) => {
  for (let each = 0; each < n; each++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Segments whose second one was begun by a rotation, renewed to a third, and rotated to a fourth. */
async function withStaleFlush() {
  const disk = new SimulatedDisk()
  const counts = { released: 0, failed: 0 }
  const backlog: Backlog = {
    ...createBacklog([], { files: disk.files }),
    release: () => void counts.released++,
  }
  const segments = new Segments({
    ...{ dir, processId: 'proc_1', files: disk.files, backlog, log: createTestLog() },
    ...{ carried: () => '', onBegun: () => undefined, onUnsynced: () => void counts.failed++ },
  })
  disk.held = []
  segments.rotate({ isDurable: true })
  expect(disk.calls.filter((call) => call.startsWith('fdatasync'))).toEqual([
    ...['fdatasync proc_1-1.jsonl', 'fdatasync proc_1-2.jsonl'],
  ])
  const [stale] = disk.held.splice(1, 1)
  const renewed = segments.renew()
  for (let n = 0; n < 20; n++) {
    disk.release()
    await turns(2)
  }
  await renewed
  expect(counts).toEqual({ released: 1, failed: 0 })
  segments.rotate({ isDurable: true })
  return { disk, counts, stale, segments }
}

test('the flush of a replaced segment does not count for its successor', async () => {
  const { disk, counts, stale, segments } = await withStaleFlush()
  const later = disk.held?.splice(0) ?? []
  stale?.()
  for (let n = 0; n < 20; n++) {
    disk.release()
    await turns(2)
  }
  expect(counts, 'the fourth segment is not on the disk').toEqual({ released: 1, failed: 0 })
  for (const answer of later) answer()
  for (let n = 0; n < 20; n++) {
    disk.release()
    await turns(2)
  }
  expect(counts).toEqual({ released: 2, failed: 0 })
  segments.close({ isEmpty: false })
})
