import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { ChaperoneError } from '../../../core/errors.ts'
import { hasMask, parseMounts } from './mounts.ts'

/** Network device in the namespace of `chaperone run --capture`. */
const DEVICE = 'chaperone0'

/**
 * Throws `conflict` inside `chaperone run --capture`. Nested namespaces inherit the masks and cannot remove them. A program that runs
 * this command with other mounts has no access to the keys of the installation either.
 */
export function refuseInsideCapture(command: string): void {
  if (!isCovered() && networkInterfaces()[DEVICE] === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `chaperone ${command} is refused inside chaperone run --capture. Run it in another terminal.`,
  })
}

/**
 * Reports whether this process runs inside a captured command. Also true when the mounts cannot be read, because
 * captured programs can hide them from their children.
 */
function isCovered(): boolean {
  if (process.platform !== 'linux') return false
  try {
    return hasMask(parseMounts(readFileSync('/proc/self/mountinfo', 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error) return true
    throw error
  }
}
