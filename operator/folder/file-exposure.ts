import { constants, type Stats } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The manifest folder, opened at the start. A captured program cannot write to this folder, but it may rename a parent
 * folder and create another folder at the same path.
 */
export type OpenedFolder = AsyncDisposable & {
  /** Reads the current mode and owner of the folder. */
  readonly stat: () => Promise<Stats>
  /** Path that leads to this folder even after it was renamed. On systems without `/proc`, the path that was opened. */
  readonly path: string
}

/** Opens the manifest folder. Rejects when this fails. */
export async function openFolder(dir: string): Promise<OpenedFolder> {
  const handle = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY)
  return {
    stat: () => handle.stat(),
    path: process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : dir,
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/**
 * Returns the reason why another user or program may change a file of the folder; null when only this user and root
 * may. A symbolic or hard link is always a reason, because its target can be in a folder where a captured program may
 * write. The group may have write access if its id equals that of the user, because distributions create such a group
 * for one user alone.
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
