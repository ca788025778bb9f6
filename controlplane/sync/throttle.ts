import type { Clock } from '../../core/state/clock.ts'

/** Runs work soon after a request, with pauses between the runs. Requests in quick succession share a run. */
export type Throttle = Disposable & { request(): void }

export type ThrottleDeps = {
  /** The work to run. The function must not reject. */
  readonly work: () => Promise<void> | void
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly maxPauseMs: number
}

/**
 * Pause after a run, as a multiple of its duration. The work then takes at most a fifth of the time, unless
 * `maxPauseMs` shortens the pause.
 */
const PAUSE_FACTOR = 4

/**
 * Creates a throttle. A request after a pause runs the work at once. Requests during a run or the pause after it
 * cause one run at the end of the pause. When many processes connect at the same time, one run thus covers many
 * requests.
 */
export function createThrottle({ work, clock, maxPauseMs }: ThrottleDeps): Throttle {
  let isPaused = false
  let isRequested = false
  let isDisposed = false
  let timer: NodeJS.Timeout | undefined
  async function run(): Promise<void> {
    isPaused = true
    isRequested = false
    const startedAt = clock.monotonicMs()
    await work()
    const pauseMs = Math.min(maxPauseMs, PAUSE_FACTOR * (clock.monotonicMs() - startedAt))
    if (isDisposed) return
    timer = setTimeout(() => {
      isPaused = false
      if (isRequested) void run()
    }, pauseMs).unref()
  }
  return {
    request() {
      isRequested = true
      if (!isPaused && !isDisposed) void run()
    },
    [Symbol.dispose]() {
      isDisposed = true
      clearTimeout(timer)
    },
  }
}
