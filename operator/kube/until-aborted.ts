/**
 * Resolves with true when `work` resolves, with false when the signal is aborted first. Rejects when `work` rejects.
 */
export async function untilAborted(work: Promise<unknown>, signal: AbortSignal): Promise<boolean> {
  const aborted = Promise.withResolvers<void>()
  const stop = () => aborted.resolve()
  if (signal.aborted) return false
  signal.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return !signal.aborted
}
