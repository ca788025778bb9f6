import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ChaperoneError } from '../../../core/errors.ts'
import { failureReason } from '../../../core/failure-reason.ts'
import { NODE_OPTIONS } from './node-options.ts'

export type ProgramSpec = {
  /** As people read it: `control plane`. */
  readonly title: string
  readonly file: string
  readonly env: NodeJS.ProcessEnv
  /** Options for Node itself, before the file. */
  readonly nodeFlags?: readonly string[]
  readonly logFile: string
  readonly readyTimeoutMs?: number
}

export type Exit = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The system could not create the process, for example for want of memory or descriptors. */
  readonly error?: Error
}

export type RunningProgram = {
  readonly pid: number
  /** What it said when it began to serve. */
  readonly ready: Readonly<Record<string, unknown>>
  readonly exited: Promise<Exit>
  /** SIGTERM, after `graceMs` SIGKILL. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>
}

const LOG_LIMIT_BYTES = 10 * 1024 * 1024

/**
 * Starts one of our processes and resolves when it serves. Rejects with its own words when it cannot: a `fatal`
 * message, else the end of its log. It ends by itself when our IPC channel closes, however we end.
 */
export async function startProgram(spec: ProgramSpec, signal: AbortSignal): Promise<RunningProgram> {
  rotate(spec.logFile)
  const log = openSync(spec.logFile, 'a+', 0o600)
  try {
    const offset = fstatSync(log).size
    const child = spawn(process.execPath, [...NODE_OPTIONS, ...(spec.nodeFlags ?? []), spec.file], {
      env: spec.env,
      // Its own process group: Ctrl-C reaches it through us, so that everything stops in the right order.
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    })
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, name) => resolve({ code, signal: name }))
      child.on('error', (error) => {
        // With a process there is an exit: the error is of a message or a signal to it.
        if (child.pid === undefined) resolve({ code: null, signal: null, error })
      })
    })
    const stop = (graceMs: number) => stopChild(child, exited, graceMs)
    try {
      const ready = await untilReady({ child, exited, spec, signal }, () => tail(log, offset))
      return { pid: child.pid ?? -1, ready, exited, stop }
    } catch (error) {
      await stop(2_000)
      throw error
    }
  } finally {
    closeSync(log)
  }
}

type Starting = {
  readonly child: ChildProcess
  readonly exited: Promise<Exit>
  readonly spec: ProgramSpec
  readonly signal: AbortSignal
}

function untilReady(starting: Starting, output: () => string): Promise<Readonly<Record<string, unknown>>> {
  const { child, exited, spec, signal } = starting
  const timeoutMs = spec.readyTimeoutMs ?? 60_000
  return new Promise((resolve, reject) => {
    let isSettled = false
    const fail = (why: string) => {
      settle()
      reject(new ChaperoneError('conflict', { detail: `The ${spec.title} ${why}` }))
    }
    const onMessage = (message: unknown) => {
      const said = message as { type?: unknown; message?: unknown } | null
      if (said?.type === 'fatal') fail(`cannot start: ${String(said.message)}`)
      if (said?.type !== 'ready') return
      settle()
      resolve(said as Readonly<Record<string, unknown>>)
    }
    const onAbort = () => fail('was stopped before it was ready.')
    const late = setTimeout(
      () => fail(`was not ready after ${timeoutMs / 1000} s. Log: ${spec.logFile}\n${output()}`),
      timeoutMs,
    )
    const settle = () => {
      isSettled = true
      clearTimeout(late)
      child.off('message', onMessage)
      signal.removeEventListener('abort', onAbort)
    }
    child.on('message', onMessage)
    signal.addEventListener('abort', onAbort, { once: true })
    void exited.then((exit) => {
      // Later ends are not ours to report, and the log is closed by then.
      if (!isSettled)
        fail(`ended ${describeExit(exit)} before it was ready. Log: ${spec.logFile}\n${output()}`)
    })
  })
}

export function describeExit(exit: Exit): string {
  if (exit.error !== undefined) return `because it could not be created (${failureReason(exit.error)})`
  return exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`
}

async function stopChild(child: ChildProcess, exited: Promise<Exit>, graceMs: number): Promise<void> {
  const timer = new AbortController()
  child.kill('SIGTERM')
  const late = delay(graceMs, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const)
  if ((await Promise.race([exited, late])) === 'late') child.kill('SIGKILL')
  timer.abort()
  await exited
}

function tail(file: number, offset: number): string {
  const size = fstatSync(file).size
  const from = Math.max(offset, size - 2_000)
  const bytes = Buffer.alloc(Math.max(0, size - from))
  readSync(file, bytes, 0, bytes.length, from)
  return bytes.toString('utf8').trimEnd()
}

/** One old log is kept, so that a folder that lives for years stays small. */
function rotate(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && found.size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
}
