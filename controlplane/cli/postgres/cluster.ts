import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Account } from './account.ts'
import type { Binaries } from './binaries.ts'
import { describeFailureOutput } from './error-hints.ts'

/**
 * PostgreSQL role of the control plane. The role owns only its database, is not a superuser, and is the only role
 * that can log in.
 */
export const ROLE = 'chaperone'
const HBA = `host ${ROLE} ${ROLE} 127.0.0.1/32 scram-sha-256\n`
/** File descriptor by which PostgreSQL processes access the data directory. The processes inherit the descriptor. */
export const FOLDER_FD = 4

export type ClusterTools = { readonly binaries: Binaries; readonly account: Account | undefined }

/**
 * Returns the path by which PostgreSQL accesses the data directory. When PostgreSQL runs under another account on
 * Linux, the path is an open descriptor in `/proc/self/fd`, because the account may have no access to the parent
 * folders (`/root`, `mktemp -d`).
 */
export function folderName(dir: string, account: Account | undefined): string {
  return account !== undefined && process.platform === 'linux' ? `/proc/self/fd/${FOLDER_FD}` : dir
}

/** Returns the options of `spawn` for PostgreSQL programs, with the account and the environment. */
export function programOptions(account: Account | undefined) {
  const identity = account === undefined ? {} : { uid: account.uid, gid: account.gid }
  return { ...identity, cwd: '/', env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' } }
}

/**
 * Creates the cluster when the data directory does not exist. The directory gets its final name last, so an incomplete
 * cluster never has that name. `password` is base62.
 */
export function ensureCluster(
  dir: string,
  password: string,
  tools: ClusterTools,
): { readonly created: boolean } {
  if (existsSync(join(dir, 'PG_VERSION'))) return { created: false }
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(unfinished, { mode: 0o700 })
  if (tools.account !== undefined) chownSync(unfinished, tools.account.uid, tools.account.gid)
  runProgram('initdb', initArguments(unfinished, tools.account), unfinished, tools)
  writeFileSync(join(unfinished, 'pg_hba.conf'), HBA)
  runSingleUser(
    unfinished,
    [`CREATE ROLE ${ROLE} LOGIN PASSWORD '${password}'`, `CREATE DATABASE ${ROLE} OWNER ${ROLE}`],
    tools,
  )
  renameSync(unfinished, dir)
  return { created: true }
}

/** Sets the role's password, for a cluster whose password file was lost. The server must not be running. */
export function resetPassword(dir: string, password: string, tools: ClusterTools): void {
  runSingleUser(dir, [`ALTER ROLE ${ROLE} PASSWORD '${password}'`], tools)
}

function initArguments(dir: string, account: Account | undefined): string[] {
  return [
    '-D',
    folderName(dir, account),
    '--username=postgres',
    '--auth=reject',
    '--no-instructions',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ]
}

/**
 * Runs SQL statements in PostgreSQL's single-user mode, which reads one statement per line. Reads errors from the
 * output, because single-user mode exits with 0 after an error.
 */
function runSingleUser(dir: string, statements: readonly string[], tools: ClusterTools): void {
  const flags = ['--single', '-D', folderName(dir, tools.account), 'postgres']
  const done = runProgram('postgres', flags, dir, tools, `${statements.join('\n')}\n`)
  const failed = done.stderr.split('\n').find((line) => /\b(ERROR|FATAL):/.test(line))
  if (failed !== undefined) throw failure('postgres --single', failed)
}

function runProgram(
  name: string,
  args: readonly string[],
  dir: string,
  tools: ClusterTools,
  input = '',
): SpawnSyncReturns<string> {
  const folder = openSync(dir, 'r')
  try {
    const done = spawnSync(join(tools.binaries.root, 'bin', name), args, {
      ...programOptions(tools.account),
      stdio: ['pipe', 'pipe', 'pipe', 'ignore', folder],
      input,
      encoding: 'utf8',
    })
    if (done.error !== undefined) throw failure(name, done.error.message)
    if (done.status !== 0) throw failure(name, `${done.stdout}\n${done.stderr}`)
    return done
  } finally {
    closeSync(folder)
  }
}

function failure(program: string, output: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The embedded PostgreSQL could not be set up (${program}):\n  ${describeFailureOutput(output)}`,
  })
}
