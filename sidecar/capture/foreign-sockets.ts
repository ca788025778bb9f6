import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ALL_SOCKET_TABLES, inodesOf } from '../../core/capture/socket-table.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { Log } from '../process/log.ts'

export type ForeignSockets = {
  /** True once a search has found a socket that belongs to the user of the proxy and that the proxy did not open. */
  readonly isFound: boolean
  close(): void
}

export type ForeignSocketsDeps = {
  readonly log: Pick<Log, 'warn'>
  readonly onChange: () => void
  readonly everyMs?: number
  /** User and folder in `/proc` of the proxy; default: this process. `uid` is absent on systems without users. */
  readonly process?: { readonly uid: number | undefined; readonly folder: string }
  /** Waits between the two readings of a search; default: `sleep`. */
  readonly wait?: (ms: number) => Promise<void>
}

const EVERY_MS = 3_000
/** Time in milliseconds between the two readings of a search: the default period of a CPU quota (CFS). */
const CONFIRM_MS = 100

/**
 * Searches periodically for sockets of the proxy's user that belong to another process: an image whose `USER` is the
 * uid of the proxy bypasses the capture. The search does not prove the absence of such a process: it misses a socket
 * that opens and closes between two searches, and sockets that are open for less than `CONFIRM_MS`. A finding is
 * permanent for this process.
 */
export function watchForeignSockets({
  log,
  onChange,
  everyMs = EVERY_MS,
  process: { uid, folder } = { uid: process.getuid?.(), folder: '/proc/self' },
  wait = sleep,
}: ForeignSocketsDeps): ForeignSockets {
  let isFound = false
  let isSearching = false
  let suspects: ReadonlySet<string> = new Set()

  /**
   * Reads the tables, and a second time if there is a suspect. A socket counts only when two readings find it: a socket
   * that the proxy closes during a reading may be in a kernel table and have no descriptor any more.
   */
  async function search(proxyUid: number): Promise<void> {
    const known = suspects
    const first = await foreignInodes(folder, proxyUid)
    suspects = first
    if (first.size === 0) return
    isFound = isAnyIn(known, first)
    if (isFound) return
    await wait(CONFIRM_MS)
    isFound = isAnyIn(await foreignInodes(folder, proxyUid), first)
  }

  async function tick(): Promise<void> {
    if (isFound || isSearching || uid === undefined) return
    isSearching = true
    await search(uid).finally(() => {
      isSearching = false
    })
    if (!isFound) return
    log.warn(
      { uid },
      'another process of the pod runs as the user of the proxy, so its traffic is not captured; set another runAsUser for its container',
    )
    onChange()
  }

  const timer = setInterval(() => void tick().catch(ignore), everyMs).unref()
  return {
    get isFound() {
      return isFound
    },
    close: () => clearInterval(timer),
  }
}

function isAnyIn(inodes: ReadonlySet<string>, others: ReadonlySet<string>): boolean {
  return [...inodes].some((inode) => others.has(inode))
}

async function foreignInodes(folder: string, uid: number): Promise<ReadonlySet<string>> {
  const paths = ALL_SOCKET_TABLES.map((path) => path.replace('/proc/self', folder))
  const tables = await Promise.all(paths.map((path) => readFile(path, 'utf8').catch(() => '')))
  const inodes = new Set(inodesOf(tables, uid))
  if (inodes.size === 0) return inodes
  for (const descriptor of await readdir(join(folder, 'fd'))) {
    const target = await readlink(join(folder, 'fd', descriptor)).catch(() => '')
    inodes.delete(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '')
  }
  return inodes
}

/** Ignores a search that failed for lack of descriptors or memory. The timer starts the next search. */
function ignore(): void {}
