/**
 * Calls `probe` until it returns a value other than null, and resolves with that value. Rejects after `timeoutMs` with an error
 * that names `what`. Waits between two calls for a tenth of the time since the first call, but at least 20 and at most 100 ms:
 * on a busy machine, frequent calls would take the CPU time from the programs that the test waits for.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null> | T | null,
  timeoutMs = 60_000,
): Promise<T> {
  const began = performance.now()
  for (;;) {
    const value = await probe()
    if (value !== null) return value
    const elapsedMs = performance.now() - began
    if (elapsedMs > timeoutMs) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(100, Math.max(20, elapsedMs / 10))))
  }
}
