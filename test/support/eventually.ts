/** Asks `probe` again and again until it answers something other than null; rejects after `timeoutMs` saying what was awaited. */
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
