/** `CHAPERONE_PROOF=full`: the sizes that the guarantees are stated with, instead of those for every run. */
export const IS_FULL = process.env['CHAPERONE_PROOF'] === 'full'

/** A size for every run, and the one for the full proof. */
export function size(usual: number, full: number): number {
  return IS_FULL ? full : usual
}

/** Works on all items, at most `atOnce` at a time, in order. Results in the order of the items. */
export async function queueLookups<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length })
  let next = 0
  const lane = async () => {
    while (next < items.length) {
      const index = next++
      results[index] = await work(items[index] as T, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane))
  return results
}

/** Numbers from 0 to 1 that are the same in every run with the same seed (mulberry32). */
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
