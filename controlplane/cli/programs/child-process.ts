import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { failureReason } from '../../../core/failure-reason.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { NODE_OPTIONS } from './node-options.ts'

export type ProgramSpec = {
  /** Name of the program in messages, for example `control plane`. */
  readonly title: string
  readonly file: string
  readonly env: NodeJS.ProcessEnv
  /** Command line options of Node, placed before the program. */
  readonly nodeFlags?: readonly string[]
  readonly logFile: string
  readonly readyTimeoutMs?: number
}

export type Exit = {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Set when the process could not be created, for example because memory or descriptors are exhausted. */
  readonly error?: Error
}

export type RunningProgram = {
  readonly pid: number
  /** Content of the `ready` message that the program sent over IPC. */
  readonly ready: Readonly<Record<string, unknown>>
  readonly exited: Promise<Exit>
  /** Sends SIGTERM, and SIGKILL after `graceMs`. Resolves when the process has ended. */
  stop(graceMs: number): Promise<void>
}

/** Why a program did not start. `aborted`: the caller aborted the start. `fatal`: the program reported an error. */
export type StartFailureReason = 'aborted' | 'fatal' | 'timeout' | 'exit'

/** A failed start. `systemCode` is the code of the system error that the program reported, such as `EADDRINUSE`. */
export class StartFailure extends ChaperoneError {
  readonly reason: StartFailureReason
  readonly systemCode: string | null

  constructor(reason: StartFailureReason, detail: string, systemCode: string | null = null) {
    super('conflict', { detail })
    this.reason = reason
    this.systemCode = systemCode
  }
}

const LOG_LIMIT_BYTES = 10 * 1024 * 1024

/**
 * Starts a program and resolves when the program sends `ready` over IPC. Rejects with a `StartFailure` that has the
 * `fatal` message of the program if it sent one, otherwise the end of its log. The program exits when the IPC channel
 * closes, so it does not outlive this process.
 */
export async function startProgram(spec: ProgramSpec, signal: AbortSignal): Promise<RunningProgram> {
  rotate(spec.logFile)
  const log = openSync(spec.logFile, 'a+', 0o600)
  try {
    const offset = fstatSync(log).size
    const child = spawn(process.execPath, [...NODE_OPTIONS, ...(spec.nodeFlags ?? []), spec.file], {
      env: spec.env,
      // A separate process group keeps Ctrl-C away from the programs, so that the supervisor can stop them in order.
      detached: true,
      stdio: ['ignore', log, log, 'ipc'],
    })
    const exited = new Promise<Exit>((resolve) => {
      child.once('exit', (code, name) => resolve({ code, signal: name }))
      child.on('error', (error) => {
        // A child without a pid was not created. When the child was created, the error is about a message or a
        // signal, and `exit` follows.
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
    const fail = (reason: StartFailureReason, why: string, code: unknown = null) => {
      settle()
      reject(new StartFailure(reason, `The ${spec.title} ${why}`, typeof code === 'string' ? code : null))
    }
    const onMessage = (message: unknown) => {
      const received = message as { type?: unknown; message?: unknown; code?: unknown } | null
      if (received?.type === 'fatal')
        fail('fatal', `cannot start: ${String(received.message)}`, received.code)
      if (received?.type !== 'ready') return
      settle()
      resolve(received as Readonly<Record<string, unknown>>)
    }
    const onAbort = () => fail('aborted', 'was stopped before it was ready.')
    const timer = setTimeout(
      () => fail('timeout', `was not ready after ${timeoutMs / 1000} s. Log: ${spec.logFile}\n${output()}`),
      timeoutMs,
    )
    const settle = () => {
      isSettled = true
      clearTimeout(timer)
      child.off('message', onMessage)
      signal.removeEventListener('abort', onAbort)
    }
    child.on('message', onMessage)
    signal.addEventListener('abort', onAbort, { once: true })
    void exited.then((exit) => {
      // An exit after the start is reported by the supervisor. In this case, the promise is settled already, and the
      // log descriptor that `output` reads is closed.
      if (!isSettled)
        fail('exit', `ended ${describeExit(exit)} before it was ready. Log: ${spec.logFile}\n${output()}`)
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
  const late = sleep(graceMs, timer.signal).then(() => 'late' as const)
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

/** Renames a large log file. Only one earlier log file remains. */
function rotate(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found !== undefined && found.size > LOG_LIMIT_BYTES) renameSync(file, `${file}.1`)
}
