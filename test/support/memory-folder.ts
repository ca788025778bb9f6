import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
const NAME = 'chaperone-tests-'
/** Free space in bytes that the folder in memory requires: several times what the databases of all workers need. */
const ROOM_BYTES = 8 * 2 ** 30

const VARIABLE = 'CHAPERONE_TEST_MEMORY'

/**
 * Creates a folder in memory (`/dev/shm`) for the databases of the tests, if enough space is free. Copying a database takes
 * 30 ms in memory and a second on a busy disk. Returns a function that removes the folder. The next test run removes the
 * folder of a killed run.
 */
export function makeMemoryFolder(): () => void {
  if (!hasRoom()) return () => undefined
  for (const name of readdirSync(MEMORY)) {
    if (name.startsWith(NAME) && !isRunning(name.slice(NAME.length))) remove(join(MEMORY, name))
  }
  const folder = join(MEMORY, `${NAME}${process.pid}`)
  mkdirSync(folder)
  // Every account may write to the folder, as to /tmp, because PostgreSQL may run as another account.
  chmodSync(folder, 0o1777)
  process.env[VARIABLE] = folder
  return () => remove(folder)
}

/** Returns the folder for databases: the folder in memory, else the folder for temporary files. */
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
