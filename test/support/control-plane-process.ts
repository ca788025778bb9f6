import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { bundledProgram } from './bundled-program.ts'
import { PROGRAM_ENV } from './program-env.ts'

/** A control plane that runs as a child process of the test. */
export type ControlPlaneProcess = {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Returns the output of the process on stdout and stderr so far. */
  log(): string
  /** Sends SIGKILL, so that the control plane cannot shut down gracefully. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Sends SIGTERM. Resolves with the exit code of the process. */
  stop(): Promise<number | null>
}

let bundled: Promise<string> | undefined
const bundle = () => (bundled ??= bundledProgram('controlplane'))

/**
 * Forks the control plane, as `chaperone up` does, and waits until it is ready. The process gets `env`, the mode
 * `token` of `APPROVALS` and `PROGRAM_ENV` as its whole environment. `preload` is a module that the process loads
 * before the control plane. Rejects with the output of a process that does not become ready.
 */
export async function startControlPlaneProcess(
  env: Readonly<Record<string, string>>,
  preload?: string,
): Promise<ControlPlaneProcess> {
  const child = fork(await bundle(), {
    // The admin token may do everything, as tests change rules with it.
    env: { ...PROGRAM_ENV, PORT: '0', APPROVALS: 'token', ...env },
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
    // Uses `close` and not `exit`, because output may still be unread at `exit`.
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
