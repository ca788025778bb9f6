import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** A child process that has reported its listening port over IPC. */
export type Served = { readonly child: ChildProcess; readonly pid: number; readonly port: number }

/**
 * Starts a Node script and waits for the IPC message `{type: 'ready', port}`. Rejects with the stderr of a process that ends
 * first.
 */
export async function serve(script: string, env: Record<string, string>): Promise<Served> {
  const options: SpawnOptions = {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  }
  const child = spawn(process.execPath, [script], options)
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + String(chunk)).slice(-2_000)
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.on('message', (message: { type: string; port?: number }) => {
      if (message.type === 'ready') resolve(message.port ?? 0)
    })
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${complaint}`)))
  })
  return { child, pid: child.pid ?? 0, port }
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(timer)
}

/** Returns the CPU time of all threads of a process in microseconds, from `/proc/PID/task/TID/schedstat`. */
export function cpuUs(pid: number): number {
  let ns = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    ns += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
  }
  return ns / 1_000
}

/** Returns the current resident memory of a process and its peak since the last reset, in MiB. */
export function rssMib(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024
  return { now: field('VmRSS'), peak: field('VmHWM') }
}

/** Returns the pid of the descendant whose command line contains `part`; null when no process matches. */
export function descendant(pid: number, part: string): number | null {
  for (const child of childrenOf(pid)) {
    if (readProc(`${child}/cmdline`).replaceAll('\0', ' ').includes(part)) return child
    const deeper = descendant(child, part)
    if (deeper !== null) return deeper
  }
  return null
}

function childrenOf(pid: number): number[] {
  const text = readProc(`${pid}/task/${pid}/children`).trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** Reads a file below `/proc`. Returns an empty string when the process has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}
