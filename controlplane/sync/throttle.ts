import type { Clock } from '../../core/state/clock.ts'

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
 * Runs work on request, with a pause after each run, until disposed. A request outside of a run and its pause runs the
 * work at once. All requests during a run or its pause cause one run at the end of the pause. When many processes
 * connect at once, one run therefore covers many of them.
 */
export class Throttle implements Disposable {
  readonly #deps: ThrottleDeps
  #isPaused = false
  #isRequested = false
  #isDisposed = false
  #timer: NodeJS.Timeout | undefined

  constructor(deps: ThrottleDeps) {
    this.#deps = deps
  }

  request(): void {
    this.#isRequested = true
    if (!this.#isPaused && !this.#isDisposed) void this.#run()
  }

  async #run(): Promise<void> {
    const { work, clock, maxPauseMs } = this.#deps
    this.#isPaused = true
    this.#isRequested = false
    const startedAt = clock.monotonicMs()
    await work()
    const pauseMs = Math.min(maxPauseMs, PAUSE_FACTOR * (clock.monotonicMs() - startedAt))
    if (this.#isDisposed) return
    this.#timer = setTimeout(() => {
      this.#isPaused = false
      if (this.#isRequested) void this.#run()
    }, pauseMs).unref()
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true
    clearTimeout(this.#timer)
  }
}
