import { readdirSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { processIdentity } from '../state/process-identity.ts'
import { readStateJson, removeStateFile, stateHome, writeStateFile } from '../state/state-home.ts'
import { parseMounts } from './mounts.ts'

/** `point` is a mount point that the command gets after all its masks. */
const Announcement = z.object({ pid: z.number(), started: z.string(), point: z.string() })
type Announcement = z.infer<typeof Announcement>

const FILE = /^capture-\d+\.json$/
const POLL_MS = 20
/** Longest wait for captures that start, in milliseconds. */
const WAIT_MS = 15_000

/**
 * Announces in the state folders that a capture of this process starts or runs, until the returned object is disposed.
 * Must be called before the lists of folders to mask are read: an installation that starts later waits for the masks,
 * and an installation that started before is in the lists.
 *
 * @param point Mount point that the command gets after all its masks.
 */
export function announceCapture(env: NodeJS.ProcessEnv, point: string): Disposable {
  const file = `capture-${process.pid}.json`
  const announcement: Announcement = {
    pid: process.pid,
    started: processIdentity(process.pid) ?? '',
    point,
  }
  const written = stateEnvironments(env).filter((each) =>
    hasStateFolder(() => writeStateFile(each, file, `${JSON.stringify(announcement)}\n`)),
  )
  return {
    [Symbol.dispose]() {
      for (const each of written) removeStateFile(each, file)
    },
  }
}

/**
 * Waits until the commands of all captures that start now have their masks. Resolves with false if this takes longer
 * than `waitMs`.
 */
export async function startingCapturesMasked(env: NodeJS.ProcessEnv, waitMs = WAIT_MS): Promise<boolean> {
  if (process.platform !== 'linux') return true
  for (const deadline = performance.now() + waitMs; ; await sleep(POLL_MS)) {
    if (announcements(env).every(({ point }) => isMounted(point))) return true
    if (performance.now() > deadline) return false
  }
}

/** Returns the mount points of all captures that start or run. */
export function announcedPoints(env: NodeJS.ProcessEnv): ReadonlySet<string> {
  return new Set(announcements(env).map(({ point }) => point))
}

/** Returns the environments whose state folders list folders to mask, that of this process first. */
export function stateEnvironments(
  env: NodeJS.ProcessEnv,
): readonly [NodeJS.ProcessEnv, ...NodeJS.ProcessEnv[]] {
  // Commands in a terminal without XDG_STATE_HOME use the default state folder.
  return [env, { HOME: env['HOME'] }, { HOME: userInfo().homedir }]
}

/** Returns the announcements of running processes, and removes those of processes that have ended. */
function announcements(env: NodeJS.ProcessEnv): readonly Announcement[] {
  const files = readdirSync(stateHome(env)).filter((name) => FILE.test(name))
  return files.flatMap((file) => {
    const announcement = readStateJson(env, file, Announcement)
    if (announcement === undefined) return []
    if (isRunning(announcement)) return [announcement]
    removeStateFile(env, file)
    return []
  })
}

function isRunning({ pid, started }: Announcement): boolean {
  return processIdentity(pid) === started
}

/** Reports whether a process of this user has the mount point in its mount namespace. */
function isMounted(point: string): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => mountsOf(pid).some((mount) => mount.point === point))
}

function mountsOf(pid: string) {
  try {
    return parseMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
  } catch (error) {
    // The process belongs to another user or has ended.
    if (error instanceof Error && 'code' in error) return []
    throw error
  }
}

/** Returns false if the state folder cannot be used. */
function hasStateFolder(write: () => void): boolean {
  try {
    write()
    return true
  } catch (error) {
    if (error instanceof ChaperoneError) return false
    throw error
  }
}
