import { setTimeout as wait } from 'node:timers/promises'

const PATIENCE_MS = 1_000
const INTERVAL_MS = 25
/** Maximum number of reviews that wait at a time. Further reviews continue at once. */
const MAX_WAITING = 100

export type GatewayWait = (isMissing: () => boolean) => Promise<void>

/** Creates the function that waits until the Gateway of a pod is in the informer cache, for `patienceMs` at most. */
export function createGatewayWait({ patienceMs = PATIENCE_MS, maxWaiting = MAX_WAITING } = {}): GatewayWait {
  let waiting = 0
  return async (isMissing) => {
    if (waiting >= maxWaiting || !isMissing()) return
    waiting++
    const untilMs = performance.now() + patienceMs
    try {
      do await wait(INTERVAL_MS)
      while (isMissing() && performance.now() < untilMs)
    } finally {
      waiting--
    }
  }
}
