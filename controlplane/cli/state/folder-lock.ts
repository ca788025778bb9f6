import { mkdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { processIdentity } from './process-identity.ts'

export type FolderLock = { release(): void }

type Holder = { readonly pid: number; readonly started: string }

/**
 * Acquires the lock that allows one supervisor per data folder. Throws `conflict` with the pid of the holder while that
 * process runs. Replaces a stale lock, whose process has ended or whose pid was reused.
 */
export async function lockFolder(file: string): Promise<FolderLock> {
  const mine: Holder = { pid: process.pid, started: processIdentity(process.pid) ?? '' }
  for (let attempt = 0; attempt < 100; attempt++) {
    if (createLockFile(file, mine)) return { release: () => release(file, mine) }
    const state = stateOf(file)
    if (state.kind === 'held') throw refusal(file, state.holder)
    if (state.kind === 'unwritten' || !takeOver(file)) await sleep(20)
  }
  throw new ChaperoneError('conflict', {
    detail: `The lock ${file} could not be taken. Remove the file if no process uses the folder.`,
  })
}

type LockState = { readonly kind: 'held'; readonly holder: Holder } | { readonly kind: 'unwritten' | 'stale' }

function stateOf(file: string): LockState {
  const holder = readHolder(file)
  if (holder !== undefined && isAlive(holder)) return { kind: 'held', holder }
  // A lock file without a pid may be new, because a process that takes the lock creates an empty file before it
  // writes the pid.
  return { kind: holder === undefined && ageMs(file) < 1_000 ? 'unwritten' : 'stale' }
}

/**
 * Removes a stale lock. A folder beside the lock serializes removals: a second process could otherwise remove the new
 * lock of the first process.
 */
function takeOver(file: string): boolean {
  if (!claim(`${file}.takeover`)) return false
  if (stateOf(file).kind === 'stale') rmSync(file, { force: true })
  rmdirSync(`${file}.takeover`)
  return true
}

/** Returns the pid of the running process that holds the lock; undefined when no running process holds the lock. */
export function lockHolder(file: string): number | undefined {
  const holder = readHolder(file)
  return holder !== undefined && isAlive(holder) ? holder.pid : undefined
}

function refusal(file: string, holder: Holder): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail:
      `Chaperone already runs in this data folder (pid ${holder.pid}, lock ${file}). ` +
      `Use the running installation (chaperone status), stop it first (kill ${holder.pid}), or start another one with --data OTHER_DIR --port 0 --gateway-port 0.`,
  })
}

function isAlive(holder: Holder): boolean {
  return processIdentity(holder.pid) === holder.started
}

function createLockFile(file: string, holder: Holder): boolean {
  try {
    writeFileSync(file, JSON.stringify(holder), { flag: 'wx', mode: 0o644 })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

function readHolder(file: string): Holder | undefined {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined
  const match = /^\{"pid":(\d+),"started":"([^"]*)"\}$/.exec(readFileSync(file, 'utf8'))
  return match === null ? undefined : { pid: Number(match[1]), started: match[2] ?? '' }
}

function claim(dir: string): boolean {
  try {
    mkdirSync(dir)
    return true
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    if (ageMs(dir) > 10_000) rmSync(dir, { recursive: true, force: true })
    return false
  }
}

function release(file: string, mine: Holder): void {
  if (readHolder(file)?.started === mine.started) rmSync(file, { force: true })
}

/** Returns the age of a file in ms; 0 for a file that does not exist. */
function ageMs(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? 0 : Date.now() - found.mtimeMs
}
