import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Returns the start time of a process, on Linux with the boot id. Pids are reused, so only the pid and the start time
 * together identify a process. Returns undefined when the process has ended.
 */
export function processIdentity(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxIdentity(pid) : psIdentity(pid)
}

function linuxIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Counts fields from the last parenthesis, because the command name may contain spaces and parentheses. Field 3
    // is the state, field 22 the start time (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH'))
      return undefined
    throw error
  }
}

function psIdentity(pid: number): string | undefined {
  const listed = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C' },
  })
  const started = listed.stdout?.trim()
  return listed.status === 0 && started ? started : undefined
}
