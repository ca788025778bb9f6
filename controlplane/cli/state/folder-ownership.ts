import { realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'

const WRITABLE_BY_OTHERS = 0o022
const STICKY = 0o1000

/**
 * Throws `conflict` when another user owns or can write to the folder, one of `files`, or a parent folder, because
 * that user could replace the tokens and addresses in it. Paths that do not exist are not checked.
 *
 * @param files Paths in the folder, relative or absolute.
 */
export function assertOwnedFolder(root: string, files: readonly string[]): void {
  const uid = process.getuid?.()
  if (uid === undefined) return
  const existing = nearestExisting(resolve(root))
  const real = realpathSync(existing)
  for (let dir = dirname(real); ; dir = dirname(dir)) {
    assertParent(dir, uid)
    if (dirname(dir) === dir) break
  }
  if (existing !== resolve(root)) {
    assertParent(real, uid)
    return
  }
  for (const path of [real, ...files.map((file) => resolve(real, file))]) assertOwn(path, uid)
}

/**
 * Throws `conflict` for a parent folder that other users own or can write to. A folder with the sticky bit,
 * such as `/tmp`, may be writable by other users, because they cannot replace entries that do not belong to
 * them.
 */
function assertParent(dir: string, uid: number): void {
  const stat = statSync(dir)
  if (stat.uid !== 0 && stat.uid !== uid) throw foreign(dir, stat)
  const isOpen = (stat.mode & WRITABLE_BY_OTHERS) !== 0 && (stat.mode & STICKY) === 0
  if (isOpen && !isOfPrivateGroup(stat)) throw open(dir, stat)
}

/**
 * Reports whether only the user's private group, whose gid is the uid, can write to a folder. Many systems create such
 * folders.
 */
function isOfPrivateGroup({ mode, uid, gid }: Stats): boolean {
  return (mode & 0o002) === 0 && gid === uid && gid === process.getgid?.()
}

function assertOwn(path: string, uid: number): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return
  if (stat.uid !== uid) throw foreign(path, stat)
  if ((stat.mode & WRITABLE_BY_OTHERS) !== 0) throw open(path, stat)
}

function nearestExisting(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    if (dirname(at) === at || statSync(at, { throwIfNoEntry: false }) !== undefined) return at
  }
}

function foreign(path: string, { uid }: Stats): ChaperoneError {
  const remedy =
    process.getuid?.() === 0
      ? 'Run the command as that user, or choose another folder with --data DIR.'
      : `Choose another folder with --data DIR, or change its owner: chown ${process.getuid?.()} ${path}`
  return refusal(
    `${path} belongs to another user (uid ${uid}), who could replace the addresses and tokens that this command uses. ${remedy}`,
  )
}

function open(path: string, { mode }: Stats): ChaperoneError {
  const octal = (mode & 0o7777).toString(8)
  return refusal(
    `${path} is writable by other users (mode ${octal}). Check its content, then run: chmod go-w ${path}`,
  )
}

function refusal(detail: string): ChaperoneError {
  return new ChaperoneError('conflict', { detail: `The data folder is not used. ${detail}` })
}

/** Returns the real path of the folder if the folder exists, otherwise the given path. */
export function realFolderPath(dir: string): string {
  return statSync(dir, { throwIfNoEntry: false }) === undefined ? join(resolve(dir)) : realpathSync(dir)
}
