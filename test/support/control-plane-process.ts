import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { bundledProgram } from './bundled-program.ts'
import { PROGRAM_ENV } from './program-env.ts'

/** A control plane as a process of its own. */
export type ControlPlaneProcess = {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** What it wrote to stdout and stderr so far. */
  log(): string
  /** SIGKILL: no farewell to anybody. Resolves when the process is gone. */
  kill(): Promise<void>
  /** SIGTERM; resolves with its exit code. */
  stop(): Promise<number | null>
}

let bundled: Promise<string> | undefined
const bundle = () => (bundled ??= bundledProgram('controlplane'))

/**
 * Forks the control plane, as `chaperone up` does, and waits until it serves. Its environment is `env` alone. `preload` is a module that
 * runs in the process before ours. Rejects with what the process said when it cannot start.
 */
export async function startControlPlaneProcess(
  env: Readonly<Record<string, string>>,
  preload?: string,
): Promise<ControlPlaneProcess> {
  const child = fork(await bundle(), {
    env: { ...PROGRAM_ENV, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: preload === undefined ? [] : ['--import', preload],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += String(chunk)
    })
  }
  const { port, url } = await ready(child, () => output)
  const pid = child.pid ?? 0
  return {
    ...{ url, port, pid },
    log: () => output,
    kill: async () => void (await ended(child, 'SIGKILL')),
    stop: () => ended(child, 'SIGTERM'),
  }
}

type Ready = { readonly port: number; readonly url: string }

function ready(child: ChildProcess, output: () => string): Promise<Ready> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the control plane did not start: ${why}\n${output()}`))
    child.on('message', (message: { type: string; message?: string } & Ready) => {
      if (message.type === 'ready') resolve({ port: message.port, url: message.url })
      else fail(message.message ?? message.type)
    })
    // Not `exit`: what it wrote may still be on its way then.
    child.once('close', (code, signal) => fail(`it ended with ${code ?? signal}`))
    child.once('error', (error) => fail(error.message))
  })
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const gone = once(child, 'exit')
  child.kill(signal)
  const [code] = (await gone) as [number | null]
  return code
}
