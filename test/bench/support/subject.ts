import { type ChildProcess, execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { end } from '../../support/processes.ts'
import type { Target } from '../../support/tunnel.ts'
import type { UpstreamProcess } from './upstream-process.ts'

/** One proxy under measurement. `pid` is the process whose CPU and memory count. */
export type Subject = {
  readonly name: string
  readonly pid: number
  readonly target: Target
  /** Further processes of the proxy that share its core. Their CPU time counts as CPU time of the proxy. */
  readonly beside?: readonly number[]
  /** Further processes of the subject that work during the measurement. Their CPU time is counted separately. */
  readonly behind?: readonly number[]
  /** Stops it; resolves with the number of records that it has written. */
  finish(): Promise<number>
}

/** What every subject is given: where the upstream is and which files hold keys. */
export type Bed = {
  readonly upstream: UpstreamProcess
  readonly upstreamPort: number
  readonly folder: string
  readonly caFile: string
  readonly keyFile: string
  readonly certFile: string
}

/** Starts a subject. Resolves with a reason instead if the subject cannot run on this machine. */
export type StartSubject = (bed: Bed) => Promise<Subject | string>

type Given = { readonly target: Target; readonly records: () => number }

/** Resolves when the proxy accepts connections. */
export async function started(
  name: string,
  child: ChildProcess,
  { target, records }: Given,
): Promise<Subject> {
  await listening(target.port, child)
  return {
    name,
    pid: child.pid ?? 0,
    target,
    finish: async () => {
      await end(child)
      return records()
    },
  }
}

export function linesOf(file: string): number {
  return readFileSync(file, 'utf8').split('\n').length - 1
}

async function listening(port: number, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300 && child.exitCode === null; attempt += 1) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.once('connect', () => socket.destroy())
      socket.once('error', () => resolve(false))
    })
    if (isUp) return
    await sleep(100)
  }
  throw new Error(`${child.spawnfile} does not listen on ${port}`)
}

export function isInstalled(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
