/**
 * Runs `work` one at a time. A call while it runs is answered by one more run that starts afterwards, so that
 * whoever calls after a change always gets a run that has seen the change.
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
    // A run that is about to start sees the change as well; starting beside it would let the older of two win.
    if (next !== null) return next
    if (running === null) return start()
    next = running.then(ignore, ignore).then(() => {
      next = null
      return start()
    })
    return next
  }
}

/** The failure of the run before belongs to its own caller. */
function ignore(): void {}
