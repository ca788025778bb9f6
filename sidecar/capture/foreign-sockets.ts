import { readdir, readFile, readlink } from 'node:fs/promises'
import { ALL_SOCKET_TABLES, inodesOf } from '../../core/capture/socket-table.ts'
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
}

const EVERY_MS = 3_000

/**
 * Searches periodically for sockets of the proxy's user that belong to another process: an image whose `USER` is the
 * uid of the proxy bypasses the capture. The search does not prove the absence of such a process: it misses a socket
 * that opens and closes between two searches. A finding is permanent for this process.
 */
export function watchForeignSockets({
  log,
  onChange,
  everyMs = EVERY_MS,
}: ForeignSocketsDeps): ForeignSockets {
  const uid = process.getuid?.()
  let isFound = false
  let suspects: ReadonlySet<string> = new Set()

  async function search(): Promise<void> {
    if (isFound || uid === undefined) return
    const found = await foreignInodes(uid)
    // A socket counts only when two searches in a row find it. A socket that the proxy closes during a search may be in
    // a kernel table and have no descriptor any more.
    isFound = [...found].some((inode) => suspects.has(inode))
    suspects = found
    if (!isFound) return
    log.warn(
      { uid },
      'another process of the pod runs as the user of the proxy, so its traffic is not captured; set another runAsUser for its container',
    )
    onChange()
  }

  const timer = setInterval(() => void search().catch(ignore), everyMs).unref()
  return {
    get isFound() {
      return isFound
    },
    close: () => clearInterval(timer),
  }
}

async function foreignInodes(uid: number): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(ALL_SOCKET_TABLES.map((path) => readFile(path, 'utf8').catch(() => '')))
  const inodes = new Set(inodesOf(tables, uid))
  if (inodes.size === 0) return inodes
  for (const descriptor of await readdir('/proc/self/fd')) {
    const target = await readlink(`/proc/self/fd/${descriptor}`).catch(() => '')
    inodes.delete(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? '')
  }
  return inodes
}

/** Ignores a search that failed for lack of descriptors or memory. The timer starts the next search. */
function ignore(): void {}
