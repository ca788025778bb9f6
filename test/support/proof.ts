/**
 * True with `CHAPERONE_PROOF=full`: tests use the sizes for which the documentation states the guarantees, instead of the
 * smaller sizes of regular runs.
 */
export const IS_FULL = process.env['CHAPERONE_PROOF'] === 'full'

/** Returns `usual` in regular runs and `full` in the full proof. */
export function size(usual: number, full: number): number {
  return IS_FULL ? full : usual
}

/**
 * Calls `work` for all items in order, with at most `atOnce` concurrent calls. Resolves with the results in the order of the
 * items.
 */
export async function queueLookups<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length })
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index] as T, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  return results
}

/** Returns a generator of pseudo-random numbers from 0 to 1 (mulberry32). The same seed gives the same numbers. */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function count<T>(items: readonly T[]): ReadonlyMap<T, number> {
  const counts = new Map<T, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}
