/** Factor by which the limits grow at most: the largest is then below a sixth of the 600 s of the start-up probe. */
const MAX_FACTOR = 8

export type TimeLimits = {
  /**
   * Starts a timer for a limit that applies in normal operation, in milliseconds. Calls `onLate` with the limit in force
   * when that limit is exceeded.
   */
  after(ms: number, onLate: (limitMs: number) => void): NodeJS.Timeout
}

/**
 * Creates the limits of calls to the control plane. While the gateway starts, each exceeded limit doubles later ones: a
 * control plane that is short of CPU would otherwise not complete the TLS handshake of any call before its client gives up
 * and repeats it. The first limit is the normal one, so that a client changes over quickly from a replica that is gone.
 */
export function createTimeLimits(isStarting: () => boolean): TimeLimits {
  let factor = 1
  return {
    after(ms, onLate) {
      const used = isStarting() ? factor : 1
      return setTimeout(() => {
        // Calls that ran side by side count once.
        factor = Math.min(MAX_FACTOR, Math.max(factor, 2 * used))
        onLate(ms * used)
      }, ms * used)
    },
  }
}
