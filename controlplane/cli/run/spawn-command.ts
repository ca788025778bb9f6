import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'

export type SpawnCommandOptions = {
  /** Delivers a signal to the command. Default: sends the signal to the child process. */
  readonly deliver?: (child: ChildProcess, signal: NodeJS.Signals) => void
  /** Called with the pid of the command when it has started. */
  readonly onStart?: (pid: number) => void
}

/**
 * Runs a command with inherited standard streams and forwards signals to it. Resolves with the command's exit code,
 * with 128 + n when signal n ended the command, 127 when it was not found, and 126 when it cannot be executed.
 */
export function spawnCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { deliver = (child, signal) => void child.kill(signal), onStart }: SpawnCommandOptions = {},
): Promise<number> {
  return new Promise((resolve) => {
    // The handlers are registered before the spawn, so that no signal is missed. They run in a later turn of the
    // event loop, when `child` is assigned.
    const forward = (signal: NodeJS.Signals) => deliver(child, signal)
    // The terminal sends Ctrl-C to the command directly. This process must not exit before the command exits.
    const ignore = () => undefined
    const forwarded: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']
    for (const signal of forwarded) process.on(signal, forward)
    process.on('SIGINT', process.stdin.isTTY ? ignore : forward)
    const child = spawn(command, args, { stdio: 'inherit', env })
    if (child.pid !== undefined) onStart?.(child.pid)
    child.once('error', (error: NodeJS.ErrnoException) => {
      process.stderr.write(
        `chaperone: ${command} cannot be started: ${error.code === 'ENOENT' ? 'not found' : error.message}\n`,
      )
      resolve(error.code === 'ENOENT' ? 127 : 126)
    })
    child.once('exit', (code, signal) => {
      for (const name of forwarded) process.off(name, forward)
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}

/**
 * Delivers a signal to the children of a process that itself ignores signals (Linux). If the process has no children,
 * kills the process.
 */
export function signalChildren(child: ChildProcess, signal: NodeJS.Signals): void {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === child.pid)
  for (const pid of children) process.kill(Number(pid), signal)
  if (children.length === 0) child.kill('SIGKILL')
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch (error) {
    // The process ended before its status file was read.
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}
