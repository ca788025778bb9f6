import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { childrenOf, treeCpuUs } from './measure.ts'
import { isInstalled } from './subject.ts'

/** Core of the measured subjects. All other processes run on the other cores. */
const SUBJECT_CORE = '0'
/** Number of cores of the machine, those included to which this process is not bound. */
const CORES = cpus().length

/** Reports whether processes can be bound to cores, which needs Linux with two cores, and taskset. */
export function canPin(): boolean {
  return process.platform === 'linux' && CORES > 1 && isInstalled('taskset')
}

/** Binds these processes and their descendants to the core of the subjects. */
export function pinToSubjectCore(pids: readonly number[]): void {
  for (const pid of pids.flatMap(treeOf)) pin(pid, SUBJECT_CORE)
}

/**
 * Binds this process and its descendants to the other cores. Child processes that start later inherit the binding.
 */
export function pinAllToOtherCores(): void {
  for (const pid of treeOf(process.pid)) pin(pid, `1-${CORES - 1}`)
}

function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' })
}

function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)]
}

/** Measures the CPU time of the processes that this process has not started. */
export class OtherProcesses {
  #all = busyUs()
  #own = treeCpuUs(process.pid)
  #at = process.hrtime.bigint()

  /** Returns the number of cores that these processes used since the last call, or since the construction. */
  cores(): number {
    const [all, own, at] = [busyUs(), treeCpuUs(process.pid), process.hrtime.bigint()]
    const us = all - this.#all - (own - this.#own)
    const elapsedUs = Number(at - this.#at) / 1_000
    this.#all = all
    this.#own = own
    this.#at = at
    return Math.max(0, us / elapsedUs)
  }
}

/** Returns user, nice and system time of all cores, in microseconds, from `/proc/stat` (ticks of 10 ms). */
function busyUs(): number {
  const [, user = 0, nice = 0, system = 0] = (readFileSync('/proc/stat', 'latin1').split('\n')[0] ?? '')
    .split(/\s+/)
    .map(Number)
  return (user + nice + system) * 10_000
}
