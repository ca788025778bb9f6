import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'

const POLL_MS = 20

/**
 * Stops a server that an earlier run left in this data directory. Removes the pid file of a server that has ended,
 * because its pid may be reused. The caller must hold the lock of the data folder.
 */
export async function stopStaleServer(
  dir: string,
  timeoutMs = 10_000,
): Promise<'none' | 'removed' | 'stopped'> {
  const pid = postmasterPid(dir)
  if (pid === undefined) return 'none'
  if (!isServerOf(pid, dir)) {
    rmSync(join(dir, 'postmaster.pid'), { force: true })
    return 'removed'
  }
  const deadline = performance.now() + timeoutMs
  signal(pid, 'SIGINT')
  while (isServerOf(pid, dir)) {
    if (performance.now() > deadline) {
      throw new ChaperoneError('conflict', {
        detail: `PostgreSQL of an earlier run (pid ${pid}) still uses ${dir} and does not stop. Stop it: kill -QUIT ${pid}`,
      })
    }
    await sleep(POLL_MS)
  }
  rmSync(join(dir, 'postmaster.pid'), { force: true })
  return 'stopped'
}

function postmasterPid(dir: string): number | undefined {
  const file = join(dir, 'postmaster.pid')
  if (!existsSync(file)) return undefined
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0])
  return Number.isInteger(pid) && pid > 0 ? pid : undefined
}

/**
 * Reports whether the server accepts connections. Such a server has written `ready` to line 8 of its pid file; pg_ctl
 * checks this line too.
 */
export function isReady(dir: string, pid: number): boolean {
  const file = join(dir, 'postmaster.pid')
  if (!existsSync(file)) return false
  const lines = readFileSync(file, 'utf8').split('\n')
  return Number(lines[0]) === pid && lines[7]?.trim() === 'ready'
}

function isServerOf(pid: number, dir: string): boolean {
  return process.platform === 'linux' ? isLinuxServer(pid, dir) : commandOf(pid).includes(dir)
}

function isLinuxServer(pid: number, dir: string): boolean {
  try {
    const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
    return name === 'postgres' && readlinkSync(`/proc/${pid}/cwd`) === realpathSync(dir)
  } catch (error) {
    // The process has ended or belongs to another user, so it is not a server that this user started here.
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}

function commandOf(pid: number): string {
  const listed = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  return listed.stdout?.includes('postgres') === true ? listed.stdout : ''
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
