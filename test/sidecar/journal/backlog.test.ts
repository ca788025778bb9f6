import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createBacklog } from '../../../sidecar/journal/backlog.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-backlog-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('segments without results may be deleted while a batch is made', async () => {
  const paths = ['1', '2', '3'].map((name) => join(folder, name))
  for (const path of paths) writeFileSync(path, '')
  const [first = '', second = '', third = ''] = paths
  const backlog = createBacklog([])
  for (const path of [first, second, third]) backlog.rotate({ path, bytes: 0, isHeld: true })
  backlog.add(Buffer.from('{"id":"rec_1"}'), { process_id: 'proc_1', seq: 0 })
  const batch = backlog.next(10)
  backlog.allowTrimming()
  backlog.release()
  expect([first, second, third].some((path) => existsSync(path))).toBe(false)
  expect([...(await batch).keys()]).toEqual(['rec_1'])
})
