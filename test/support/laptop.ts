import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cliProgram } from './cli-program.ts'
import { seedCluster } from './cluster-template.ts'
import { eventually } from './eventually.ts'
import { databasesFolder } from './memory-folder.ts'
import { descendant } from './processes.ts'
import { type CommandOptions, type CommandResult, commandEnv, runCommand } from './run-command.ts'
import { workerPostgres } from './worker-postgres.ts'

/** The line of JSON that `chaperone up --json` prints when the installation is ready. */
export type ReadyLine = {
  readonly base_url: string
  readonly gateway_url: string
  readonly ca_file: string
  readonly ca_bundle_file: string
  readonly owner_link: string | null
  readonly agents: ReadonlyArray<{ readonly name: string; readonly proxy_url: string }>
}

/** An installation on this machine, started with `chaperone up` as a user starts it: all processes and PostgreSQL. */
export type Laptop = {
  readonly data: string
  readonly manifests: string
  readonly ready: ReadyLine
  readonly pid: number
  /** URL of the database for `database: 'worker'`, else null. */
  readonly databaseUrl: string | null
  /**
   * Runs a command with the data folder of this installation: `run` and commands of another checkout in a process of their
   * own, all others in the process of the test (`runCommand`).
   */
  cli(args: readonly string[], options?: CommandOptions): Promise<CommandResult>
  /** As `cli`, in a process of its own, for tests of the command line tool as a program. */
  program(args: readonly string[], options?: CommandOptions): Promise<CommandResult>
  /** Sends a request to the dashboard API as the owner. */
  api(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
  writeManifest(file: string, text: string): void
  /**
   * Sends SIGKILL to the process whose command line contains `script`, such as `sidecar/main`. Resolves when the supervisor
   * has restarted the process.
   */
  crash(script: string): Promise<void>
  /** Sends SIGTERM and waits until the installation has stopped. */
  stop(): Promise<void>
}

export type LaptopOptions = {
  readonly manifests?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  /** Existing data folder to resume, in place of a new one. */
  readonly data?: string
  readonly keepData?: boolean
  /**
   * `embedded` (default): the PostgreSQL that `chaperone up` starts. `worker`: a database of the test worker's PostgreSQL, by
   * DATABASE_URL. `worker` saves 1 s of CPU time, for tests that do not cover the embedded database.
   */
  readonly database?: 'embedded' | 'worker'
  /**
   * True for tests of `chaperone run --capture`. The data folder is then not in `/dev/shm`, because a captured command has a
   * `/dev/shm` of its own.
   */
  readonly isCaptured?: boolean
  /** Root of another checkout whose sources run. Default: the bundles of this checkout. */
  readonly checkout?: string
  /** Default: `token`, because `api` approves with the token of the command line. */
  readonly approvals?: 'session' | 'token'
}

export async function startLaptop(options: LaptopOptions = {}): Promise<Laptop> {
  const root =
    options.data === undefined
      ? mkdtempSync(join(options.isCaptured === true ? tmpdir() : databasesFolder(), 'chaperone-test-'))
      : join(options.data, '..')
  const data = options.data ?? join(root, 'data')
  const manifests = join(root, 'manifests')
  mkdirSync(manifests, { recursive: true })
  const server = options.database === 'worker' ? await workerPostgres() : null
  const databaseUrl = (await server?.createMigratedDatabase())?.url ?? null
  const database = databaseUrl === null ? {} : { DATABASE_URL: databaseUrl }
  const usesOwnDatabase = server === null && options.env?.['DATABASE_URL'] === undefined
  if (options.data === undefined && usesOwnDatabase) await seedCluster(data)
  for (const [file, text] of Object.entries(options.manifests ?? {}))
    writeFileSync(join(manifests, file), text)
  const args = [
    'up',
    '--data',
    data,
    '--manifests',
    manifests,
    '--port',
    '0',
    '--gateway-port',
    '0',
    '--approvals',
    options.approvals ?? 'token',
    '--json',
  ]
  const cli =
    options.checkout === undefined ? cliProgram() : join(options.checkout, 'controlplane/cli/main.ts')
  const env = { ...process.env, XDG_STATE_HOME: join(root, 'state'), ...database, ...options.env }
  const child = spawn(process.execPath, [cli, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ready = await readyLine(child)
  const token = readFileSync(join(data, 'admin.token'), 'utf8').trim()
  const program: Laptop['program'] = (cliArgs, cliOptions) => runProgram([cli, ...cliArgs], data, cliOptions)
  return {
    data,
    manifests,
    ready,
    databaseUrl,
    pid: child.pid ?? 0,
    cli: (cliArgs, cliOptions) =>
      cliArgs[0] === 'run' || options.checkout !== undefined
        ? program(cliArgs, cliOptions)
        : runCommand(data, cliArgs, cliOptions),
    program,
    api: async (method, path, body) => {
      const answer = await fetch(ready.base_url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
    },
    writeManifest: (file, text) => writeFileSync(join(manifests, file), text),
    crash: (script) => crash(child.pid ?? 0, script),
    stop: async () => {
      await endOf(child)
      await server?.stop()
      if (options.keepData !== true) rmSync(root, { recursive: true, force: true })
    },
  }
}

async function crash(supervisor: number, script: string): Promise<void> {
  const pid = descendant(supervisor, script)
  if (pid === null) throw new Error(`no process ${script}`)
  process.kill(pid, 'SIGKILL')
  await eventually(`a new ${script}`, () => {
    const now = descendant(supervisor, script)
    return now !== null && now !== pid ? now : null
  })
}

function readyLine(child: ChildProcess): Promise<ReadyLine> {
  let out = ''
  let err = ''
  return new Promise((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      out += String(chunk)
      const line = out.split('\n').find((text) => text.startsWith('{') && text.endsWith('}'))
      if (line !== undefined) resolve(JSON.parse(line) as ReadyLine)
    })
    child.stderr?.on('data', (chunk: Buffer) => {
      err = (err + String(chunk)).slice(-4_000)
    })
    child.once('exit', (code) => reject(new Error(`chaperone up ended with ${code}:\n${err}`)))
  })
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await gone
}

function runProgram(args: string[], data: string, options: CommandOptions = {}): Promise<CommandResult> {
  const [cli = '', command = '', ...rest] = args
  // `--data` precedes the other arguments, because `run` passes everything after `--` to the command.
  const child = spawn(process.execPath, [cli, command, '--data', data, ...rest], {
    env: commandEnv(data, options.env),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += String(chunk)
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += String(chunk)
  })
  child.stdin.end(options.input ?? '')
  return new Promise((resolve) =>
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr })),
  )
}
