/**
 * Returns a function that runs `work`, one run at a time. Calls during a run share one further run that starts
 * afterwards, so that a call after a change always waits for a run that reads the change.
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
    // The queued run starts later, so it reads the change too. With a parallel run, the result of the older one could
    // replace that of the newer one.
    if (next !== null) return next
    if (running === null) return start()
    next = running.then(ignore, ignore).then(() => {
      next = null
      return start()
    })
    return next
  }
}

/** Ignores the failure of the previous run, which its own caller handles. */
function ignore(): void {}
