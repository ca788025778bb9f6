import { execFileSync } from 'node:child_process'

/** Whether the command is installed; where `CI` is set, throws when it is not. */
export function hasCommand(command: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${command}`], { stdio: 'ignore' })
    return true
  } catch (error) {
    if (process.env['CI'] !== undefined) throw new Error(`${command} is needed in CI`, { cause: error })
    return false
  }
}
