import { execFileSync } from 'node:child_process'

/**
 * Reports whether the command is installed. In CI (environment variable `CI`), throws when the command is missing, so that no
 * test is skipped.
 */
export function hasCommand(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch (error) {
    if (process.env['CI'] !== undefined) throw new Error(`${command} is needed in CI`, { cause: error })
    return false
  }
}
