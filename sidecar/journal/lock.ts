import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from './segments/errno.ts'

/**
 * One writer per data folder. The lock names a process by id and, where the kernel tells (Linux), by its start time,
 * so that a recycled process id after a crash or in a fresh container does not look like a living owner.
 */
export type DataLock = { release(): void }

type Owner = { readonly pid: number; readonly started: string | null }

/** Makes the folder when it is missing. Throws with what to do when a living process holds it. */
export function lockDataDir(dir: string): DataLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const file = join(dir, 'gateway.lock')
  const mine = join(dir, `.gateway.lock.${randomBytes(8).toString('hex')}`)
  writeFileSync(mine, JSON.stringify({ pid: process.pid, started: startTime(process.pid) }))
  try {
    for (let attempt = 0; attempt < 5; attempt++) {
      if (tryLink(mine, file)) return { release: () => rmSync(file, { force: true }) }
      const owner = readOwner(file)
      if (owner !== null && isAlive(owner)) {
        throw new Error(
          `${dir} is in use by process ${owner.pid}. One gateway writes to one data folder: stop that process, or set DATA_DIR to another folder.`,
        )
      }
      setAside(file, owner)
    }
    throw new Error(
      `${file} could not be taken: other processes keep competing for it. Start one gateway per DATA_DIR.`,
    )
  } finally {
    rmSync(mine, { force: true })
  }
}

/** `link` is atomic and refuses to replace: exactly one of several starters wins. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

/** Moves a dead owner's lock away. If another starter replaced it meanwhile, its lock is put back. */
function setAside(file: string, expected: Owner | null): void {
  const aside = `${file}.${randomBytes(8).toString('hex')}`
  try {
    renameSync(file, aside)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return
    throw error
  }
  const moved = readOwner(aside)
  if (moved !== null && moved.pid !== expected?.pid && isAlive(moved)) tryLink(aside, file)
  rmSync(aside, { force: true })
}

function readOwner(file: string): Owner | null {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number')
      return null
    return {
      pid: value.pid,
      started: 'started' in value && typeof value.started === 'string' ? value.started : null,
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return null
    throw error
  }
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0)
  } catch (error) {
    if (isErrno(error, 'ESRCH')) return false
    if (!isErrno(error, 'EPERM')) throw error
  }
  const now = startTime(owner.pid)
  return owner.started === null || now === null || now === owner.started
}

/** Clock ticks since boot at which the process started; null where /proc does not say. */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name may hold spaces and parentheses: fields are counted after the last one.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH') || isErrno(error, 'EACCES')) return null
    throw error
  }
}
