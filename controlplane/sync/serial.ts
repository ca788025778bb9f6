/**
 * Runs `work` one at a time. Calls during a run share one further run that starts afterwards, so that a caller that
 * calls after a change always gets a run that reads the change.
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
    // A run that is about to start reads the change too; a parallel run could let the older one of two win.
    if (next !== null) return next
    if (running === null) return start()
    next = running.then(ignore, ignore).then(() => {
      next = null
      return start()
    })
    return next
  }
}

/** The failure of the previous run belongs to its own caller. */
function ignore(): void {}
