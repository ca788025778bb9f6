import { type Backoff, createBackoff, pause } from '../../process/back-off.ts'

/** Repeats an attempt, further and further apart, for as long as something is pending. */
export type Repeater = {
  /** The next attempt is made now. */
  wake(): void
  /** An attempt was made by other means: the next one follows after the first pause. */
  wakeLater(): void
  close(): void
}

export type RepeaterDeps = {
  readonly isPending: () => boolean
  /** Never rejects. */
  readonly attempt: () => Promise<void>
  readonly random: () => number
}

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

export function createRepeater({ isPending, attempt, random }: RepeaterDeps): Repeater {
  const backoff: Backoff = createBackoff(random, FIRST_MS, LONGEST_MS)
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
