import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isErrno } from './segments/errno.ts'

/**
 * Ensures one writer for each data folder. The lock names its owner by process id and, on Linux, by start time, so
 * that a reused process id after a crash or in a new container does not count as a live owner.
 */
export type DataLock = { release(): void }

type Owner = { readonly pid: number; readonly started: string | null }

/** Locks the folder, and creates it if missing. Throws with a remedy when a live process holds the lock. */
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
          `${dir} is in use by process ${owner.pid}. Each gateway needs a data folder of its own: stop that process, or set DATA_DIR to another folder.`,
        )
      }
      setAside(file, owner)
    }
    throw new Error(
      `${file} could not be locked, because other processes try to lock it. Start one gateway per DATA_DIR.`,
    )
  } finally {
    rmSync(mine, { force: true })
  }
}

/**
 * Creates a hard link. `link` is atomic and fails if the target exists, so exactly one of several starting processes
 * succeeds.
 */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * Removes the lock of a process that has ended. Restores the lock when another live process acquired it in the
 * meantime.
 */
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

/** Returns the start time of the process in clock ticks since boot; null without /proc. */
function startTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name may contain spaces and parentheses, so fields are counted after the last parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH') || isErrno(error, 'EACCES')) return null
    throw error
  }
}
