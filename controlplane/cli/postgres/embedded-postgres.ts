import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { type Account, postgresAccount } from './account.ts'
import { type Binaries, installedBinaries, reachableBinaries } from './binaries.ts'
import { ensureCluster, FOLDER_FD, folderName, programOptions, ROLE, resetPassword } from './cluster.ts'
import { describeFailureOutput, isPortTaken } from './error-hints.ts'
import { freePort } from './free-port.ts'
import { isReady, stopStaleServer } from './stale-server.ts'

export type EmbeddedPostgresOptions = {
  /** The data directory, created on first start. The caller must hold a lock for the directory. */
  readonly dir: string
  /**
   * Password of the role, base62. `isNew`: the password was just created, so the role of an existing cluster still has
   * another password.
   */
  readonly password: { readonly value: string; readonly isNew: boolean }
  readonly logFile: string
  /** TCP port. 0 or absent selects any free port. */
  readonly port?: number
  readonly startTimeoutMs?: number
  /** PostgreSQL binaries. Default: the binaries in the npm package for this platform. */
  readonly binaries?: Binaries
}

export type EmbeddedPostgres = {
  /**
   * Connection URL, `postgres://chaperone:…@127.0.0.1:PORT/chaperone`. The role owns its database and is not a
   * superuser.
   */
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly created: boolean
  /** Resolves when the server process has ended. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
  /**
   * Requests a fast shutdown, and after `timeoutMs` an immediate one, from which PostgreSQL recovers at the next
   * start.
   */
  stop(timeoutMs?: number): Promise<void>
}

/**
 * Shell command that runs the server with `exec`, and a background process (the reader) that reads a pipe from this
 * process. When the pipe closes without data, because this process was killed, the reader requests a fast shutdown,
 * so that the server does not continue to run. `$$` is the server's pid.
 */
const LAUNCH = `( ( read -r word <&3 || kill -INT $$ ) >/dev/null 2>&1 ${FOLDER_FD}<&- & ); exec "$@" 3<&-`

/** Time in ms that a stop waits for the reader process to exit after the server. */
const READER_MS = 1_000

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '64MB',
  max_connections: '60',
  fsync: 'on',
  synchronous_commit: 'on',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  io_method: 'sync',
  max_worker_processes: '2',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  password_encryption: 'scram-sha-256',
}

/** Starts the server for `dir`, and creates the cluster on first start. Rejects with a `ChaperoneError`. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const account = postgresAccount(options.dir)
  const binaries = reachableBinaries(options.binaries ?? installedBinaries(), account)
  await stopStaleServer(options.dir)
  const { created } = ensureCluster(options.dir, options.password.value, { binaries, account })
  if (!created && options.password.isNew)
    resetPassword(options.dir, options.password.value, { binaries, account })
  for (let attempt = 1; ; attempt++) {
    const port = options.port || (await freePort())
    const started = await launch({ options, port, account, binaries })
    if (started.ok) return { ...started.server, created }
    // Another program may take the port between the choice of the port and the start of the server.
    const isRetryable = !options.port && isPortTaken(started.output) && attempt < 5
    if (!isRetryable) {
      throw new ChaperoneError('conflict', {
        detail: `The embedded PostgreSQL did not start:\n  ${describeFailureOutput(started.output)}\n  Complete log: ${options.logFile}`,
      })
    }
  }
}

type Launch = {
  readonly options: EmbeddedPostgresOptions
  readonly port: number
  readonly account: Account | undefined
  readonly binaries: Binaries
}
type Launched =
  | { readonly ok: true; readonly server: Omit<EmbeddedPostgres, 'created'> }
  | { readonly ok: false; readonly output: string }

async function launch({ options, port, account, binaries }: Launch): Promise<Launched> {
  const folder = openSync(options.dir, 'r')
  const log = openSync(options.logFile, 'a+', 0o600)
  try {
    const logStart = fstatSync(log).size
    const command = [
      join(binaries.root, 'bin', 'postgres'),
      '-D',
      folderName(options.dir, account),
      '-p',
      String(port),
    ]
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn('/bin/sh', ['-c', LAUNCH, 'postgres', ...command, ...settings], {
      ...programOptions(account),
      // The server runs in a separate session, so that Ctrl-C in the terminal does not stop the database before its
      // clients.
      detached: true,
      stdio: ['ignore', log, log, 'pipe', folder],
    })
    // `once` rejects with the child's `error` when the process cannot be created.
    await once(child, 'spawn')
    const server = wrap(child, port, options.password.value)
    const ready = await untilReady(child, server, options)
    return ready ? { ok: true, server } : { ok: false, output: readFrom(log, logStart) }
  } catch (cause) {
    const identity =
      account === undefined
        ? ''
        : ` as ${account.name} (Chaperone runs as root, and must be permitted to change to this user)`
    throw new ChaperoneError('conflict', {
      detail: `The embedded PostgreSQL could not be started${identity}: ${String(cause)}. Correct the cause, or set DATABASE_URL to your own PostgreSQL.`,
      cause,
    })
  } finally {
    closeSync(folder)
    closeSync(log)
  }
}

function wrap(child: ChildProcess, port: number, password: string): Omit<EmbeddedPostgres, 'created'> {
  const pipe = child.stdio[3] as Socket
  // The pipe fails with EPIPE when the process that reads it exits before the last write.
  pipe.on('error', () => pipe.destroy())
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      // The process that reads the pipe exits when it receives the line `done`, and the pipe then closes. The timer
      // closes the pipe if this takes too long. A signal to the pid of the server would be unsafe, because another
      // process may have this pid after the server has exited.
      const timer = setTimeout(() => pipe.destroy(), READER_MS)
      pipe.once('close', () => {
        clearTimeout(timer)
        resolve({ code, signal })
      })
      pipe.resume()
      pipe.end('done\n')
    })
  })
  const stop = async (timeoutMs = 3_000): Promise<void> => {
    for (const [name, graceMs] of [
      ['SIGINT', timeoutMs],
      ['SIGQUIT', 1_000],
      ['SIGKILL', 1_000],
    ] as const) {
      child.kill(name)
      const timer = new AbortController()
      const late = sleep(graceMs, timer.signal).then(() => 'late' as const)
      const first = await Promise.race([exited, late])
      timer.abort()
      if (first !== 'late') return
    }
  }
  return {
    url: `postgres://${ROLE}:${password}@127.0.0.1:${port}/${ROLE}`,
    port,
    pid: child.pid ?? -1,
    exited,
    stop,
  }
}

async function untilReady(
  child: ChildProcess,
  server: Omit<EmbeddedPostgres, 'created'>,
  options: EmbeddedPostgresOptions,
): Promise<boolean> {
  const deadline = performance.now() + (options.startTimeoutMs ?? 60_000)
  while (child.exitCode === null && child.signalCode === null) {
    if (isReady(options.dir, server.pid)) return true
    if (performance.now() > deadline) {
      await server.stop(1_000)
      return false
    }
    await sleep(10)
  }
  return false
}

function readFrom(file: number, offset: number): string {
  const bytes = Buffer.alloc(Math.max(0, fstatSync(file).size - offset))
  readSync(file, bytes, 0, bytes.length, offset)
  return bytes.toString('utf8')
}
