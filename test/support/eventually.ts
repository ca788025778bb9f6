/**
 * Calls `probe` every 20 ms until it returns a value other than null, and resolves with that value. Rejects after `timeoutMs`
 * with an error that names `what`.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null> | T | null,
  timeoutMs = 25_000,
): Promise<T> {
  const until = performance.now() + timeoutMs
  for (;;) {
    const value = await probe()
    if (value !== null) return value
    if (performance.now() > until) throw new Error(`${what} did not happen within ${timeoutMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
