/** Maximum factor of growth. The largest limit (80 s) is then below a sixth of the 600 s of the start-up probe. */
const MAX_FACTOR = 8

export type TimeLimits = {
  /**
   * Starts a timer. `ms` is the limit in normal operation. Calls `onLate` with the limit in force when it is exceeded.
   * Limits are in milliseconds.
   */
  after(ms: number, onLate: (limitMs: number) => void): NodeJS.Timeout
}

/**
 * Creates the limits of calls to the control plane. While the gateway starts, each exceeded limit doubles later ones: a
 * control plane that is short of CPU would otherwise not complete the TLS handshake of any call before the client
 * repeats it. The first limit is the normal one, so that a client leaves a replica that is gone without delay.
 */
export function createTimeLimits(isStarting: () => boolean): TimeLimits {
  let factor = 1
  return {
    after(ms, onLate) {
      const used = isStarting() ? factor : 1
      return setTimeout(() => {
        // Concurrent calls with the same limit double it once.
        factor = Math.min(MAX_FACTOR, Math.max(factor, 2 * used))
        onLate(ms * used)
      }, ms * used)
    },
  }
}
