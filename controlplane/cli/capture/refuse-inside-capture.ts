import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { ChaperoneError } from '../../../core/errors.ts'
import { hasMask, parseMounts } from './mounts.ts'

/** Network device in the network namespace of a captured command. */
const DEVICE = 'chaperone0'

/**
 * Throws `conflict` inside `chaperone run --capture`. The check also detects capture in nested namespaces, because
 * these inherit the masks and cannot remove them. A captured program that evades the check with other mounts still
 * has no access to the keys of the installation.
 */
export function refuseInsideCapture(command: string): void {
  if (!isCovered() && networkInterfaces()[DEVICE] === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `chaperone ${command} is refused inside chaperone run --capture. Run it in another terminal.`,
  })
}

/**
 * Reports whether this process runs inside a captured command. Also returns true when /proc/self/mountinfo cannot be
 * read, because a captured program can hide that file from its children.
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
