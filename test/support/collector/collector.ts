import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { eventually } from '../eventually.ts'
import { hasCommand } from '../has-command.ts'
import { end } from '../processes.ts'
import { IS_FULL } from '../proof.ts'

const PROGRAM = join(import.meta.dirname, '../../../node_modules/.cache/go-programs/collector')

/** Whether the Collector exists, or can be compiled in this run. Compiling takes minutes, so only full runs do it. */
export const hasCollector = existsSync(PROGRAM) || (IS_FULL && hasCommand('go'))

/** Compiles the OpenTelemetry Collector of this folder if it does not exist. Resolves with its path. */
export async function installCollector(): Promise<string> {
  if (existsSync(PROGRAM)) return PROGRAM
  mkdirSync(join(PROGRAM, '..'), { recursive: true })
  const env = { ...process.env, CGO_ENABLED: '0', GOTOOLCHAIN: 'auto', GOFLAGS: '-p=1 -buildvcs=false' }
  const flags = ['-trimpath', '-ldflags', '-s -w', '-o', PROGRAM]
  await promisify(execFile)('go', ['build', '-C', import.meta.dirname, ...flags, '.'], {
    env,
    maxBuffer: 1 << 26,
  })
  return PROGRAM
}

/** A running Collector. Disposal ends it by SIGTERM. */
export type Collector = AsyncDisposable & {
  /** Ends the Collector by SIGKILL. */
  kill(): Promise<void>
}

/** Starts the Collector with these configuration files, the later ones on top, and waits until it is ready. */
export async function startCollector(program: string, configurations: readonly string[]): Promise<Collector> {
  const child = spawn(
    program,
    configurations.flatMap((file) => ['--config', file]),
    {
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output = (output + String(chunk)).slice(-8_000)
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  await eventually('a ready Collector', () => {
    if (child.exitCode !== null) throw new Error(`the Collector ended with ${child.exitCode}: ${output}`)
    return output.includes('Everything is ready') ? true : null
  })
  return {
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
    [Symbol.asyncDispose]: () => end(child),
  }
}
