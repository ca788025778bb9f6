import { execFileSync } from 'node:child_process'

/**
 * Reports whether the command is in a folder of `path` (default: PATH of this process). In CI (environment variable `CI`), throws when the command is missing, so that no
 * test is skipped.
 */
export function hasCommand(command: string, path = process.env['PATH'] ?? ''): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], {
      stdio: 'ignore',
      env: { ...process.env, PATH: path },
    })
    return true
  } catch (error) {
    if (process.env['CI'] !== undefined) throw new Error(`${command} is needed in CI`, { cause: error })
    return false
  }
}
