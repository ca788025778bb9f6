import type { BackOff } from '../../../core/state/back-off.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { createControlBackOff } from '../back-off.ts'

/** Repeats an attempt, with a growing pause after each, while work is pending. */
export type RetryLoop = {
  /** Starts the next attempt immediately. */
  wake(): void
  /** Restarts the back-off after an attempt outside this loop. The next attempt follows after the shortest pause. */
  wakeLater(): void
  close(): void
}

export type RetryLoopDeps = {
  readonly isPending: () => boolean
  /** Makes one attempt. The promise must not reject. */
  readonly attempt: () => Promise<void>
  readonly random: () => number
}

const FIRST_MS = 500
const LONGEST_MS = 30_000

export function createRetryLoop({ isPending, attempt, random }: RetryLoopDeps): RetryLoop {
  const backoff: BackOff = createControlBackOff(random, FIRST_MS, LONGEST_MS)
  const closed = new AbortController()
  let pauseEnd = new AbortController()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (isPending() && !closed.signal.aborted) {
      if (pauseEnd.signal.aborted) {
        pauseEnd = new AbortController()
        await attempt()
      } else {
        await sleep(backoff.next(), AbortSignal.any([pauseEnd.signal, closed.signal]))
        pauseEnd.abort()
      }
    }
    isRunning = false
  }

  function start(): void {
    backoff.reset()
    if (!isRunning && !closed.signal.aborted) void run()
  }

  return {
    wake() {
      pauseEnd.abort()
      start()
    },
    wakeLater() {
      if (!isRunning) pauseEnd = new AbortController()
      start()
    },
    close: () => closed.abort(),
  }
}
