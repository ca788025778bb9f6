/**
 * Returns a function that runs `work`, one run at a time. Calls during a run share one further run, which starts
 * afterwards. A call after a change therefore always waits for a run that reads the change.
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
    // The queued run starts after the change of this call and therefore reads the change. In parallel runs, the result
    // of the older run could replace the result of the newer run.
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
