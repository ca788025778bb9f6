import { sleep } from '../../runtime/sleep.ts'

const PATIENCE_MS = 1_000
const INTERVAL_MS = 25
/** Maximum number of reviews that wait at a time. Further reviews continue at once. */
const MAX_WAITING = 100

export type GatewayWait = (isMissing: () => boolean) => Promise<void>

/**
 * Creates the function that waits, for at most `patienceMs` milliseconds, until the Gateway and the other
 * objects that a pod depends on are in the informer caches.
 */
export function createGatewayWait({ patienceMs = PATIENCE_MS, maxWaiting = MAX_WAITING } = {}): GatewayWait {
  let waiting = 0
  return async (isMissing) => {
    if (waiting >= maxWaiting || !isMissing()) return
    waiting++
    const untilMs = performance.now() + patienceMs
    try {
      do await sleep(INTERVAL_MS)
      while (isMissing() && performance.now() < untilMs)
    } finally {
      waiting--
    }
  }
}
