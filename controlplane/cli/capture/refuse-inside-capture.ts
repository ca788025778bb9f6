import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { ChaperoneError } from '../../../core/errors.ts'
import { hasMask, parseMounts } from './mounts.ts'

/** The device of the network namespace that `chaperone run --capture` makes. */
const DEVICE = 'chaperone0'

/**
 * Throws `conflict` inside `chaperone run --capture`. Namespaces that a program there makes have the covers, too, and cannot
 * remove them. A program that shows this command other mounts reaches no key of the installation either.
 */
export function refuseInsideCapture(command: string): void {
  if (!isCovered() && networkInterfaces()[DEVICE] === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `chaperone ${command} is refused inside chaperone run --capture: use a terminal of your own.`,
  })
}

/** True as well where the mounts cannot be read: captured programs can hide them from the commands that they start. */
function isCovered(): boolean {
  if (process.platform !== 'linux') return false
  try {
    return hasMask(parseMounts(readFileSync('/proc/self/mountinfo', 'utf8')))
  } catch (error) {
    if (error instanceof Error && 'code' in error) return true
    throw error
  }
}
