import { networkInterfaces } from 'node:os'
import { ChaperoneError } from '../../../core/errors.ts'

/** The device of the network namespace that `chaperone run --capture` makes. */
const DEVICE = 'chaperone0'

/** Throws `conflict` inside `chaperone run --capture`. Programs there have no rights over the device and cannot remove it. */
export function refuseInsideCapture(command: string): void {
  if (networkInterfaces()[DEVICE] === undefined) return
  throw new ChaperoneError('conflict', {
    detail: `chaperone ${command} is refused inside chaperone run --capture: use a terminal of your own.`,
  })
}
