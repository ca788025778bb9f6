import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { lockFolder, lockHolder } from '../../../../controlplane/cli/state/folder-lock.ts'
import { processIdentity } from '../../../../controlplane/cli/state/process-identity.ts'

let root: string
let file: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-lock-'))
  file = join(root, 'lock')
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

it('rejects a second holder, with the pid and the remedy', async () => {
  const lock = await lockFolder(file)
  await expect(lockFolder(file)).rejects.toThrow(
    new RegExp(`pid ${process.pid}[\\s\\S]*kill ${process.pid}[\\s\\S]*--data`),
  )
  lock.release()
  expect(existsSync(file)).toBe(false)
  ;(await lockFolder(file)).release()
})

it('takes over the lock of a process that has ended', async () => {
  const child = spawn(process.execPath, ['-e', ''])
  const started = processIdentity(child.pid ?? 0)
  await once(child, 'exit')
  writeFileSync(file, JSON.stringify({ pid: child.pid, started }))
  const lock = await lockFolder(file)
  expect(lockHolder(file)).toBe(process.pid)
  lock.release()
})

it('takes over a lock whose pid was reused', async () => {
  writeFileSync(file, JSON.stringify({ pid: process.ppid, started: 'another boot:1' }))
  const lock = await lockFolder(file)
  expect(lockHolder(file)).toBe(process.pid)
  lock.release()
})

it('lets exactly one of several processes take over a stale lock', async () => {
  const module = new URL('../../../../controlplane/cli/state/folder-lock.ts', import.meta.url).href
  writeFileSync(file, JSON.stringify({ pid: 999_999_999, started: 'gone' }))
  const script = `const { lockFolder } = await import(${JSON.stringify(module)})
    try { await lockFolder(${JSON.stringify(file)}); console.log('taken') } catch (error) { console.log(error.code) }
    process.stdin.resume()`
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', script]),
  )
  try {
    const said = await Promise.all(
      children.map(async (child) => String((await once(child.stdout, 'data'))[0]).trim()),
    )
    expect(said.sort()).toEqual(['conflict', 'conflict', 'conflict', 'conflict', 'conflict', 'taken'])
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
})
