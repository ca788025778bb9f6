import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { cliProgram } from '../support/cli-program.ts'
import { commandEnv } from '../support/run-command.ts'

/** The bundle; `first-start.test.ts` starts the sources, as `npm start` does. */
export const CLI = cliProgram()

export type Started = {
  readonly child: ChildProcess
  readonly pid: number
  /** The parsed ready line; `stdout()` returns the complete standard output. */
  readonly ready: {
    readonly base_url: string
    readonly gateway_url: string | null
    readonly ca_file: string
    readonly ca_bundle_file: string
    readonly owner_link: string | null
    readonly agents: ReadonlyArray<{ name: string; proxy_url: string }>
  }
  stdout(): string
  stderr(): string
}

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** `chaperone up --json` on any free ports, as a user starts it; resolves with the ready line. */
export async function up(
  data: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Started> {
  const running = spawnUp(data, ['--port', '0', '--gateway-port', '0', ...args], env)
  const line = await running.firstLine
  const { child, out, err } = running
  return {
    child,
    pid: child.pid ?? -1,
    ready: JSON.parse(line),
    stdout: () => out.join(''),
    stderr: () => err.join(''),
  }
}

/** Runs a start that fails; resolves with the output and the exit code. */
export async function upEnds(
  data: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ended> {
  const { child, out, err, firstLine } = spawnUp(data, args, env)
  firstLine.catch(() => undefined)
  const code = child.exitCode ?? (await new Promise<number | null>((resolve) => child.once('close', resolve)))
  return { code, stdout: out.join(''), stderr: err.join('') }
}

function spawnUp(data: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, [CLI, 'up', '--data', data, '--json', ...args], {
    env: { ...commandEnv(data), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: string[] = []
  const err: string[] = []
  child.stderr.on('data', (chunk: Buffer) => err.push(String(chunk)))
  const firstLine = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out.push(String(chunk))
      const [line, ...more] = out.join('').split('\n')
      if (line !== undefined && more.length > 0) resolve(line)
    })
    child.once('exit', (code) => reject(new Error(`chaperone up ended with ${code}: ${err.join('')}`)))
  })
  return { child, out, err, firstLine }
}

export async function stop(started: Started, signal: NodeJS.Signals = 'SIGTERM') {
  const began = performance.now()
  const { child } = started
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }
  return { code: child.exitCode, ms: performance.now() - began }
}

/** Processes of the data folder, found by command line, environment or working directory. */
export function processesOf(data: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter(
      (pid) =>
        ['cmdline', 'environ'].some((file) => read(`/proc/${pid}/${file}`).includes(data)) ||
        cwdOf(pid).startsWith(data),
    )
    .map(Number)
}

/** The processes of the data folder as text, for a message of a test. */
export function processTexts(data: string): string[] {
  return processesOf(data).map((pid) => `${pid} ${read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')}`)
}

export async function untilNoProcess(data: string, timeoutMs = 60_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let left = processTexts(data); left.length > 0; left = processTexts(data)) {
    if (performance.now() > deadline) throw new Error(`still running: ${left.join('\n')}`)
    await delay(25)
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch (error) {
    if (error instanceof Error && 'code' in error) return ''
    throw error
  }
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return ''
    throw error
  }
}
