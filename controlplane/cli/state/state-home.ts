import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { parseJson } from './parse-json.ts'

/**
 * Returns the user's state folder: `chaperone` in `$XDG_STATE_HOME` if set, otherwise `~/.local/state/chaperone`.
 * Creates a missing folder with mode 0700. Throws `conflict` when the path is not a folder, belongs to another user,
 * or is writable by group or others.
 */
export function stateHome(env: NodeJS.ProcessEnv): string {
  const dir = statePath(env)
  create(dir)
  const { mode, uid, isFolder } = facts(dir)
  if (!isFolder) throw refused(dir, 'is not a folder', `move it away: mv ${dir} ${dir}.old`)
  refuseForeign(dir, { uid, mode })
  if ((mode & 0o077) !== 0) chmodSync(dir, 0o700)
  return dir
}

/** Returns the path of the state folder, without creating or checking it. */
export function statePath(env: NodeJS.ProcessEnv): string {
  // The XDG Base Directory Specification requires that relative paths are ignored.
  const given = env['XDG_STATE_HOME'] ?? ''
  const state = isAbsolute(given) ? given : join(env['HOME'] || homedir(), '.local', 'state')
  return join(state, 'chaperone')
}

/**
 * Reads a file in the state folder; undefined when the file is absent. Throws `conflict` when the file is a link,
 * belongs to another user, or permits more than mode 0600.
 */
export function readStateFile(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const file = join(stateHome(env), name)
  const descriptor = openExisting(file)
  if (descriptor === undefined) return undefined
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) throw refused(file, 'is not a file', `remove it: rm -r ${file}`)
    refuseForeign(file, stat)
    if ((stat.mode & 0o077) !== 0) throw refused(file, 'is readable by other users', `run: chmod 600 ${file}`)
    return readFileSync(descriptor, 'utf8')
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Reads a JSON file in the state folder. Returns undefined for an absent or damaged file, which the next write
 * replaces.
 */
export function readStateJson<S extends z.ZodType>(
  env: NodeJS.ProcessEnv,
  name: string,
  schema: S,
): z.infer<S> | undefined {
  const parsed = schema.safeParse(parseJson(readStateFile(env, name) ?? ''))
  return parsed.success ? parsed.data : undefined
}

/** Writes a file in the state folder atomically, with mode 0600. */
export function writeStateFile(env: NodeJS.ProcessEnv, name: string, text: string): void {
  const file = join(stateHome(env), name)
  const unfinished = `${file}.${randomUUID()}`
  writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(unfinished, file)
}

/** Removes a file in the state folder; an absent file is not an error. */
export function removeStateFile(env: NodeJS.ProcessEnv, name: string): void {
  rmSync(join(stateHome(env), name), { force: true })
}

function create(dir: string): void {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
    throw refused(
      dir,
      `cannot be created (${code})`,
      'make its parent folder writable, move away a file of this name, or set XDG_STATE_HOME to another folder',
    )
  }
}

function facts(dir: string) {
  const stat = lstatSync(dir)
  return { mode: stat.mode, uid: stat.uid, isFolder: stat.isDirectory() }
}

function openExisting(file: string): number | undefined {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP') throw refused(file, 'is a symbolic link', `remove it: rm ${file}`)
    throw refused(file, `cannot be read (${String(code)})`, `change its owner, or remove it: rm ${file}`)
  }
}

function refuseForeign(path: string, { uid, mode }: { readonly uid: number; readonly mode: number }): void {
  const own = process.getuid?.()
  if (own !== undefined && uid !== own) {
    throw refused(
      path,
      `belongs to another user (uid ${uid})`,
      'change its owner, or set XDG_STATE_HOME to a folder that you own',
    )
  }
  if ((mode & 0o022) !== 0) {
    throw refused(path, 'is writable by other users', `check its content, then run: chmod go-rwx ${path}`)
  }
}

function refused(path: string, what: string, remedy: string): ChaperoneError {
  return new ChaperoneError('conflict', { detail: `${path} ${what}, and is not used. Remedy: ${remedy}` })
}
