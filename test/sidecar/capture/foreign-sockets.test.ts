import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ForeignSockets, watchForeignSockets } from '../../../sidecar/capture/foreign-sockets.ts'
import { eventually } from '../../support/eventually.ts'

const UID = 1_912_345_678
const EVERY_MS = 400
let proc: string
let watch: ForeignSockets | undefined
let reported: number

beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'chaperone-proc-'))
  mkdirSync(join(proc, 'net'))
  mkdirSync(join(proc, 'fd'))
  reported = 0
})
afterEach(() => {
  watch?.close()
  rmSync(proc, { recursive: true })
})

/** Writes the table of the kernel with these sockets of the user of the proxy. */
function table(...inodes: readonly number[]): void {
  const rows = inodes.map(
    (inode) =>
      `   0: 0100007F:1F90 00000000:0000 01 00000000:00000000 00:00000000 00000000 ${UID} 0 ${inode} 1`,
  )
  writeFileSync(join(proc, 'next'), `  sl  local_address …\n${rows.join('\n')}\n`)
  renameSync(join(proc, 'next'), join(proc, 'net/tcp'))
}

/** Starts the search with this function in place of the wait between the two readings of a search. */
function start(wait: () => void): void {
  watch = watchForeignSockets({
    log: { warn: () => undefined },
    onChange: () => reported++,
    everyMs: EVERY_MS,
    process: { uid: UID, folder: proc },
    wait: async () => wait(),
  })
}

test('a program that opens a new connection for each request is found, although no connection lasts until the next search', async () => {
  let inode = 1_000
  let keptUntil = 0
  table(inode)
  // The connection that a search suspects lasts until the second reading, and never until the next search.
  const requests = setInterval(() => performance.now() > keptUntil && table(++inode), EVERY_MS / 10)
  start(() => {
    keptUntil = performance.now() + EVERY_MS / 2
  })
  await eventually('the sockets are found', () => watch?.isFound || null)
  clearInterval(requests)
  expect(reported).toBe(1)
})

test('sockets of the proxy that open and close all the time are not reported', async () => {
  symlinkSync('socket:[7]', join(proc, 'fd/3'))
  let inode = 1_000
  table(7, inode)
  // The kernel still lists a socket for a moment after its descriptor is closed.
  start(() => table(7, ++inode))
  await eventually('some searches are over', () => inode > 1_004 || null)
  expect([watch?.isFound, reported]).toEqual([false, 0])
})
