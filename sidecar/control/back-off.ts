import { type BackOff, createBackOff } from '../../core/state/back-off.ts'

/**
 * Growth of the pause after each attempt. A factor of 1.5 limits the load on a control plane that restarts, and adds at
 * most half to the time to reconnect.
 */
const FACTOR = 1.5

/**
 * Creates the back-off for calls to the control plane, with pauses that grow from `minMs` to `maxMs` (milliseconds).
 */
export function createControlBackOff(random: () => number, minMs = 50, maxMs = 5_000): BackOff {
  return createBackOff({ minMs, maxMs, factor: FACTOR, random })
}
