/** Longest synchronous run of a stage since the last call, in milliseconds. */
export type LongestRun = { readonly stage: string; readonly ms: number }

/**
 * Measures how long each stage runs without returning to the event loop. The pipeline calls `enter` when it starts or
 * resumes a stage; the synchronous code until the next call counts for that stage.
 */
export type StageClock = {
  /** Starts the measurement of a stage and ends the previous one. */
  enter(stage: string): void
  /** Ends the measurement before control returns to the event loop. Returns the run time in milliseconds. */
  leave(): number
  /** The longest run since the last call; null when no stage ran. */
  takeLongest(): LongestRun | null
}

export function createStageClock(monotonicMs: () => number): StageClock {
  let current: string | null = null
  let since = 0
  let longest: LongestRun | null = null

  function close(now: number): number {
    if (current === null) return 0
    const ms = now - since
    if (longest === null || ms > longest.ms) longest = { stage: current, ms }
    current = null
    return ms
  }

  return {
    enter(stage) {
      const now = monotonicMs()
      close(now)
      current = stage
      since = now
    },
    leave: () => (current === null ? 0 : close(monotonicMs())),
    takeLongest() {
      const taken = longest
      longest = null
      return taken
    },
  }
}
