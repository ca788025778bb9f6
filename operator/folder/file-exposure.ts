import { constants, type Stats } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The folder as it was when it was opened. A captured program cannot write to it, but it can rename a folder above it
 * and create another one at its path.
 */
export type OpenedFolder = AsyncDisposable & {
  /** Reads its current mode and owner. */
  readonly stat: () => Promise<Stats>
  /** Path that leads to this folder after it was renamed, too. On systems without `/proc`, the path that was opened. */
  readonly path: string
}

/** Rejects when the folder cannot be opened. */
export async function openFolder(dir: string): Promise<OpenedFolder> {
  const handle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  return {
    stat: () => handle.stat(),
    path: process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : dir,
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/**
 * Returns the reason why another user or program may change a file of the folder; null when only this user and root may.
 * Refuses a link, because its target is outside of the folder, where a captured program may write; refuses a second name of
 * the file for the same reason. The group may write if its id equals that of the user, because distributions create such a
 * group for one user alone.
 *
 * @param read Stats of the open file whose text was read.
 */
export async function exposureOf(folder: OpenedFolder, file: string, read: Stats): Promise<string | null> {
  const entry = await lstat(join(folder.path, file)).catch(() => null)
  if (entry?.isSymbolicLink() === true) return 'the file is a link'
  if (entry === null || entry.ino !== read.ino || entry.dev !== read.dev)
    return 'the folder was replaced since the start (if you did that, start Chaperone again)'
  if (read.nlink > 1) return 'the file has a second name (hard link)'
  return writerOf(await folder.stat(), 'folder') ?? writerOf(read, 'file')
}

function writerOf({ uid, gid, mode }: Stats, what: 'folder' | 'file'): string | null {
  const own = process.getuid?.()
  if (own === undefined) return null
  if (uid !== own && uid !== 0) return `the ${what} belongs to another user`
  if ((mode & 0o002) !== 0) return `every user may write to the ${what}`
  const isOwnGroup = gid === own && gid === process.getgid?.()
  return (mode & 0o020) === 0 || isOwnGroup ? null : `its group may write to the ${what}`
}
