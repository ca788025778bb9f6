import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuUs } from '../../support/processes.ts'

/** CPU of a process and all that it has started, those that have ended included, in microseconds. */
export function treeCpuUs(pid: number): number {
  const own = cpuUs(pid) + endedChildrenUs(pid)
  return childrenOf(pid).reduce((sum, child) => sum + treeCpuUsOf(child), own)
}

/** Autovacuum and the like may end while they are looked at: their parent accounts for them then. */
function treeCpuUsOf(pid: number): number {
  try {
    return treeCpuUs(pid)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null
    if (code === 'ENOENT' || code === 'ESRCH') return 0
    throw error
  }
}

export function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

/** `cutime` and `cstime`, in ticks of 10 ms. */
function endedChildrenUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10_000
}

/** Until a process takes less than a tenth of a core: what it was given before is done. */
export async function untilQuiet(pid: number): Promise<void> {
  for (let isQuiet = false; !isQuiet; ) {
    const before = cpuUs(pid)
    await sleep(50)
    isQuiet = cpuUs(pid) - before < 5_000
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
