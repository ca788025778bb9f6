import { readFileSync } from 'node:fs'
import { childrenOf } from './measure.ts'

/** No pause lasts longer, whatever happens to the work. */
const MAX_MS = 20_000

/** Stops these processes and all that they started (SIGSTOP) while `work` runs, and lets them go on afterwards. */
export async function whilePaused<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  const all = pids.flatMap(withDescendants)
  const resume = () => signal(all, 'SIGCONT')
  const timer = setTimeout(resume, MAX_MS)
  signal(all, 'SIGSTOP')
  try {
    const result = await work()
    const running = all.filter((pid) => stateOf(pid) !== 'T')
    if (running.length === all.length) throw new Error('nothing was paused: the figure would be a wrong one')
    return result
  } finally {
    clearTimeout(timer)
    resume()
  }
}

function withDescendants(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(withDescendants)]
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}

function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[0]
}
