import { isUnavailable } from './db/connection/unavailable.ts'

export type BatcherOptions = {
  /** Maximum number of items per run. */
  readonly max: number
  /** Maximum number of concurrent runs. */
  readonly atOnce: number
}

/**
 * Returns a function that combines items into batches (group commit). While fewer than `atOnce` runs are in progress,
 * an item starts at once. Otherwise, the item waits, and the next run takes up to `max` waiting items. When a run
 * fails, each of its items gets a separate run, so that one item cannot cause another item to fail. When the database
 * is unavailable, all items fail without a second run, because the first run may have committed before its reply was
 * lost. `run` returns its results in the order of its items.
 */
export function createBatcher<T, R>(
  run: (items: readonly T[]) => Promise<readonly R[]>,
  { max, atOnce }: BatcherOptions,
): (item: T) => Promise<R> {
  type Waiting = { readonly item: T; resolve(result: R): void; reject(error: unknown): void }
  const queue: Waiting[] = []
  let running = 0

  async function settle(batch: readonly Waiting[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item))
      for (const [index, waiting] of batch.entries()) waiting.resolve(results[index] as R)
    } catch (error) {
      await settleEach(batch, error)
    }
  }

  async function settleEach(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || isUnavailable(error)) {
      for (const waiting of batch) waiting.reject(error)
      return
    }
    for (const waiting of batch) await settle([waiting])
  }

  function pump(): void {
    if (running >= atOnce || queue.length === 0) return
    running++
    void settle(queue.splice(0, max)).then(() => {
      running--
      pump()
    })
    pump()
  }

  return (item) =>
    new Promise<R>((resolve, reject) => {
      queue.push({ item, resolve, reject })
      // The run starts in the next phase of the event loop, so that items of one phase share a run.
      if (queue.length === 1) setImmediate(pump)
    })
}
