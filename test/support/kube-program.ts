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

/** Starts one; what it writes goes to the file `log`. */
export function startProgram({ file, args, log }: ProgramStart): Program {
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A heap of 0.5 GB: the programs are of Go, and collecting garbage takes a third of their CPU time otherwise.
    env: { ...process.env, GOGC: '400' },
  })
  const out = createWriteStream(log)
  child.stdout.pipe(out, { end: false })
  child.stderr.pipe(out, { end: false })
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  // A test process that ends without disposing must not leave a cluster behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => {
    process.removeListener('exit', kill)
    out.end()
  })
  return { child, hasEnded, kill }
}

/** The last one started first; nothing here has to survive, so nobody is asked to shut down in order. */
export async function stopAll(programs: readonly Program[]): Promise<void> {
  for (const { child, hasEnded, kill } of [...programs].reverse()) {
    if (hasEnded()) continue
    const gone = once(child, 'exit')
    kill()
    await gone
  }
}
