import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'

export type SpawnCommandOptions = {
  /** Delivers a signal to the command. */
  readonly deliver?: (child: ChildProcess, signal: NodeJS.Signals) => void
  /** Called with the process id of the command once it runs. */
  readonly onStart?: (pid: number) => void
}

/** The command's exit code; 128 + n when a signal ended it, 127 when it was not found, 126 when it cannot be run. */
export function spawnCommand(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { deliver = (child, signal) => void child.kill(signal), onStart }: SpawnCommandOptions = {},
): Promise<number> {
  return new Promise((resolve) => {
    // Handlers run in a later turn, when the command is there; put up after it, they would miss a signal that comes at once.
    const forward = (signal: NodeJS.Signals) => deliver(child, signal)
    // A Ctrl-C in the terminal reaches the command directly; we only must not end before it.
    const stay = () => undefined
    const forwarded: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2']
    for (const signal of forwarded) process.on(signal, forward)
    process.on('SIGINT', process.stdin.isTTY ? stay : forward)
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

/** Delivers a signal to the children of a child that ignores signals itself (Linux). Without children, ends it. */
export function signalChildren(child: ChildProcess, signal: NodeJS.Signals): void {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === child.pid)
  for (const pid of children) process.kill(Number(pid), signal)
  if (children.length === 0) child.kill('SIGKILL')
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch (error) {
    // The process ended meanwhile.
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}
