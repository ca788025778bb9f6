import { type BackOff, createBackOff, pause } from '../../process/back-off.ts'

/** Repeats an attempt, further and further apart, for as long as something is pending. */
export type RetryLoop = {
  /** The next attempt is made now. */
  wake(): void
  /** An attempt was made by other means: the next one follows after the first pause. */
  wakeLater(): void
  close(): void
}

export type RetryLoopDeps = {
  readonly isPending: () => boolean
  /** Never rejects. */
  readonly attempt: () => Promise<void>
  readonly random: () => number
}

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

export function createRetryLoop({ isPending, attempt, random }: RetryLoopDeps): RetryLoop {
  const backoff: BackOff = createBackOff(random, FIRST_MS, LONGEST_MS)
  const closed = new AbortController()
  let sleep = new AbortController()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (isPending() && !closed.signal.aborted) {
      if (sleep.signal.aborted) {
        sleep = new AbortController()
        await attempt()
      } else {
        await pause(backoff.next(), AbortSignal.any([sleep.signal, closed.signal]))
        sleep.abort()
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
      sleep.abort()
      start()
    },
    wakeLater() {
      if (!isRunning) sleep = new AbortController()
      start()
    },
    close: () => closed.abort(),
  }
}
