import { randomUUID } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import { assertOwnedFolder, realFolderPath } from './folder-ownership.ts'
import { parseJson } from './parse-json.ts'
import { statePath } from './state-home.ts'
import { trustedFolders } from './trusted-folders.ts'

/** Absolute paths of a data folder and of the files in it. */
export type DataFolder = ReturnType<typeof dataFolder>

export function dataFolder(dir: string) {
  const root = resolve(dir)
  const keys = join(root, 'keys')
  return {
    root,
    keys,
    lock: join(root, 'lock'),
    run: join(root, 'run.json'),
    caCert: join(root, 'ca.crt'),
    caBundle: join(root, 'ca-bundle.crt'),
    adminToken: join(root, 'admin.token'),
    gatewayToken: join(root, 'gateway.token'),
    manifests: join(root, 'manifests'),
    gateway: join(root, 'gateway'),
    captureSocket: join(root, 'gateway', 'capture.sock'),
    postgres: join(root, 'postgres'),
    logs: join(root, 'logs'),
    caKey: join(keys, 'ca.key'),
    masterKey: join(keys, 'master.key'),
    enrolToken: join(keys, 'enrol.token'),
    operatorToken: join(keys, 'operator.token'),
    postgresPassword: join(keys, 'postgres.password'),
  } as const
}

/** Schema of the run file. The file tells other commands the addresses and the files of a running installation. */
export const RunFile = z.object({
  pid: z.number().int(),
  base_url: z.string(),
  gateway_url: z.string().nullable(),
  gateway_port: z.number().int().nullable(),
  ca_file: z.string(),
  ca_bundle_file: z.string(),
  manifests: z.string(),
  started_at: z.string(),
})
export type RunFile = z.infer<typeof RunFile>

/** Name of a data folder in a working tree. */
export const FOLDER_NAME = '.chaperone'

export type FolderSearch = {
  /** Value of the option `--data`. */
  readonly flag: string | undefined
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  readonly warn: (line: string) => void
}

/**
 * Returns the data folder. This is the first of the following that is given or exists: the option `--data`,
 * CHAPERONE_DATA, the nearest trusted `.chaperone` in the working directory or a parent, the folder in the home
 * folder. Ignores a nearer `.chaperone` that is not trusted, with a warning, because a repository can contain such a
 * folder. Throws `conflict` when another user owns the folder or can write to it.
 */
export function findDataFolder(search: FolderSearch): DataFolder {
  const folder = dataFolder(
    namedFolder(search) ?? trustedFolder(search) ?? join(statePath(search.env), 'data'),
  )
  assertOwnedDataFolder(folder)
  return folder
}

/** Throws `conflict` when another user owns or can write to the folder, or a file in it that commands rely on. */
export function assertOwnedDataFolder(folder: DataFolder): void {
  const { root, keys, run, lock, adminToken, gatewayToken, gateway, manifests, logs, caCert, caBundle } =
    folder
  const secrets = [
    folder.caKey,
    folder.masterKey,
    folder.enrolToken,
    folder.operatorToken,
    folder.postgresPassword,
  ]
  assertOwnedFolder(root, [
    keys,
    run,
    lock,
    adminToken,
    gatewayToken,
    gateway,
    manifests,
    logs,
    caCert,
    caBundle,
    ...secrets,
  ])
}

function namedFolder({ flag, env, cwd }: FolderSearch): string | null {
  const name = flag ?? env['CHAPERONE_DATA']
  return name === undefined || name === '' ? null : resolve(cwd, name)
}

function trustedFolder({ env, cwd, warn }: FolderSearch): string | null {
  const upward = foldersUpward(cwd)
  if (upward.length === 0) return null
  const trusted = trustedFolders(env)
  const found = upward.find((folder) => trusted.includes(folder))
  const nearest = upward[0]
  if (nearest !== undefined && nearest !== found) {
    warn(
      `chaperone: ${nearest} is not trusted and is ignored. If the folder is yours: chaperone trust ${shellQuote(nearest)}`,
    )
  }
  return found ?? null
}

/** Returns the real paths of the data folders in this folder and its parents, nearest first. */
function foldersUpward(cwd: string): readonly string[] {
  const found: string[] = []
  for (let dir = cwd; ; dir = dirname(dir)) {
    const inside = join(dir, FOLDER_NAME)
    if (existsSync(inside)) found.push(realFolderPath(inside))
    if (dirname(dir) === dir) return found
  }
}

/** Creates the data folder and its subfolders. Throws `conflict` with a remedy when the folder is not writable. */
export function prepareDataFolder(folder: DataFolder): void {
  try {
    for (const dir of [folder.root, folder.logs, folder.gateway])
      mkdirSync(dir, { recursive: true, mode: 0o755 })
    mkdirSync(folder.keys, { recursive: true, mode: 0o700 })
    chmodSync(folder.keys, 0o700)
    accessSync(folder.root, constants.W_OK)
  } catch (cause) {
    throw new ChaperoneError('conflict', { detail: `${describeFailure(folder.root, cause)}`, cause })
  }
}

function describeFailure(dir: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const advice: Readonly<Record<string, string>> = {
    EACCES: 'The folder is not writable. Choose another folder with --data, or change its owner.',
    EPERM: 'The folder belongs to another user. Choose another folder with --data, or change its owner.',
    ENOENT: 'The folder cannot be created. Choose another folder with --data.',
    EROFS: 'The file system is read-only. Choose another folder with --data.',
    ENOSPC: 'The disk is full. Free some space, or choose another folder with --data.',
    ENOTDIR: 'A part of the path is a file. Choose another folder with --data.',
    EEXIST: 'A file with this name exists. Choose another folder with --data.',
  }
  return `The data folder ${dir} cannot be used (${code || String(cause)}). ${advice[code] ?? 'Choose another folder with --data.'}`
}

/** Reads a private file. If the file is missing or empty, creates it with mode 0600, and `isNew` is true. */
export function ensureSecret(
  file: string,
  make: () => string,
): { readonly value: string; readonly isNew: boolean } {
  if (existsSync(file)) {
    const value = readFileSync(file, 'utf8').trim()
    if (value !== '') return { value, isNew: false }
  }
  const value = make()
  writePrivate(file, `${value}\n`)
  return { value, isNew: true }
}

/**
 * Writes the file atomically, and only when content or mode differ. Concurrent processes may call this function: each
 * writes its own temporary file, and the last rename wins.
 */
export function writePrivate(file: string, content: string | Uint8Array, mode = 0o600): void {
  const bytes = Buffer.from(content)
  if (isWritten(file, bytes, mode)) return
  const unfinished = `${file}.${randomUUID()}.new`
  try {
    writeFileSync(unfinished, bytes, { mode, flag: 'wx', flush: true })
    chmodSync(unfinished, mode)
    renameSync(unfinished, file)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
}

/**
 * Reports whether the file already has this content and mode. Returns false for a symbolic link, because the caller
 * replaces the link with a file.
 */
function isWritten(file: string, bytes: Buffer, mode: number): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile() || found.size !== bytes.length) return false
  if ((found.mode & 0o777) !== mode) return false
  return bytes.equals(readFileSync(file))
}

/** Reads the run file of a running installation; undefined when none runs in the folder. */
export function readRunFile(folder: DataFolder): RunFile | undefined {
  if (statSync(folder.run, { throwIfNoEntry: false }) === undefined) return undefined
  const parsed = RunFile.safeParse(parseJson(readFileSync(folder.run, 'utf8')))
  return parsed.success ? parsed.data : undefined
}
