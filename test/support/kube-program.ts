import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'

export type Program = {
  readonly child: ChildProcess
  readonly hasEnded: () => boolean
  readonly kill: () => void
}

export type ProgramStart = {
  readonly name: string
  readonly file: string
  readonly args: readonly string[]
  readonly log: string
}

/** Starts a program. Its output goes to the file `log`. */
export function startProgram({ file, args, log }: ProgramStart): Program {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A high GOGC lets the heap of these Go programs grow to 0.5 GB. With the default, garbage collection takes a third of
    // their CPU time.
    env: { ...process.env, GOGC: '400' },
  })
  const out = createWriteStream(log)
  child.stdout.pipe(out, { end: false })
  child.stderr.pipe(out, { end: false })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  // Kills the program when the test process exits without disposing the server.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => {
    process.removeListener('exit', kill)
    out.end()
  })
  return { child, hasEnded, kill }
}

/**
 * Kills the programs with SIGKILL, in reverse order of their start. A graceful shutdown is not needed, because no data must
 * survive.
 */
export async function stopAll(programs: readonly Program[]): Promise<void> {
  for (const { child, hasEnded, kill } of [...programs].reverse()) {
    if (hasEnded()) continue
    const gone = once(child, 'exit')
    kill()
    await gone
  }
}
