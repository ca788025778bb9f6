import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NAME = 'chaperone-tests-'
/** What the databases of all workers need at once, several times over. */
const ROOM_BYTES = 8 * 2 ** 30

const VARIABLE = 'CHAPERONE_TEST_MEMORY'

/**
 * A folder in memory for the databases of the tests, where there is plenty of it: a database is copied in 30 ms there, and
 * in a second on a busy disk. Whatever the tests left in it goes at their end, or at the next start.
 */
export function makeMemoryFolder(): () => void {
  if (!hasRoom()) return () => undefined
  for (const name of readdirSync(MEMORY)) {
    if (name.startsWith(NAME) && !isRunning(name.slice(NAME.length))) remove(join(MEMORY, name))
  }
  const folder = join(MEMORY, `${NAME}${process.pid}`)
  mkdirSync(folder)
  // As /tmp: PostgreSQL may run as another account.
  chmodSync(folder, 0o1777)
  process.env[VARIABLE] = folder
  return () => remove(folder)
}

/** Where databases are made: in memory, or among the other temporary folders. */
export function databasesFolder(): string {
  return process.env[VARIABLE] ?? tmpdir()
}

function hasRoom(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, at]) => at === MEMORY)
    const { bavail, bsize } = statfsSync(MEMORY)
    return mount !== undefined && !mount[3]?.split(',').includes('noexec') && bavail * bsize > ROOM_BYTES
  } catch {
    return false
  }
}

function isRunning(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true })
