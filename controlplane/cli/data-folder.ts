import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import * as z from 'zod'
import { ChaperoneError } from '../../core/errors.ts'

/** Every path of a data folder, absolute. */
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

/** What a running installation tells other commands. */
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

/** `--data`, else CHAPERONE_DATA, else the nearest `.chaperone` upward, else `.chaperone` here. */
export function findDataFolder(flag: string | undefined, env: NodeJS.ProcessEnv, cwd: string): DataFolder {
  if (flag !== undefined) return dataFolder(resolve(cwd, flag))
  if (env['CHAPERONE_DATA']) return dataFolder(resolve(cwd, env['CHAPERONE_DATA']))
  for (let dir = cwd; ; dir = dirname(dir)) {
    if (existsSync(join(dir, '.chaperone'))) return dataFolder(join(dir, '.chaperone'))
    if (dirname(dir) === dir) return dataFolder(join(cwd, '.chaperone'))
  }
}

/** Makes the folder and its private parts. Throws with what to change when it cannot be written. */
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
    EACCES: 'You may not write there: choose another folder with --data, or change its owner.',
    EPERM: 'It belongs to another user: choose another folder with --data, or change its owner.',
    ENOENT: 'It cannot be made there: choose another folder with --data.',
    EROFS: 'It is on a read-only file system: choose another folder with --data.',
    ENOSPC: 'The disk is full: free some space, or choose another folder with --data.',
    ENOTDIR: 'A part of that path is a file: choose another folder with --data.',
    EEXIST: 'A file of that name is in the way: choose another folder with --data.',
  }
  return `The data folder ${dir} cannot be used (${code || String(cause)}). ${advice[code] ?? 'Choose another folder with --data.'}`
}

/** Reads a private file, making it (0600) on first use. `isNew` says which. */
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

/** Whole or not at all: a crash never leaves half a key. */
export function writePrivate(file: string, text: string, mode = 0o600): void {
  const unfinished = `${file}.new`
  writeFileSync(unfinished, text, { mode, flush: true })
  chmodSync(unfinished, mode)
  renameSync(unfinished, file)
}

/** The running installation's addresses; undefined when none runs on the folder. */
export function readRunFile(folder: DataFolder): RunFile | undefined {
  if (statSync(folder.run, { throwIfNoEntry: false }) === undefined) return undefined
  const parsed = RunFile.safeParse(parseJson(readFileSync(folder.run, 'utf8')))
  return parsed.success ? parsed.data : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
