/**
 * Returns a function that runs `work`, one run at a time. Calls during a run share one further run, which starts
 * afterwards. Therefore, a call that follows a change always waits for a run that reads the change.
 */
export function createSerial(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  const start = (): Promise<void> => {
    const run = work().finally(() => {
      if (running === run) running = null
    })
    running = run
    return run
  }
  return () => {
    // The queued run has not started yet, so it will read the change that caused this call. If two runs were in
    // progress at the same time, the result of the older run could replace the result of the newer run.
    if (next !== null) return next
    if (running === null) return start()
    next = running.then(ignore, ignore).then(() => {
      next = null
      return start()
    })
    return next
  }
}

/** Ignores the error of the previous run, because the caller of that run handles it. */
function ignore(): void {}
