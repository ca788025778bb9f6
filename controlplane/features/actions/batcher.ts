import { isUnavailable } from '../../db/unavailable.ts'

export type BatcherOptions = {
  /** Items per run. */
  readonly max: number
  /** Runs at the same time. */
  readonly atOnce: number
}

/**
 * Group commit: what arrives while a run is under way is done together by the next. An item waits for nobody when
 * nothing else is under way. When a run fails, each of its items gets a run of its own, so that none fails for another;
 * but a database that is away is away for all of them, and may have done what it could no longer answer.
 * `run` answers in the order of its items.
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
      await settleApart(batch, error)
    }
  }

  async function settleApart(batch: readonly Waiting[], error: unknown): Promise<void> {
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
      // Not at once: what arrives in the same turn of the event loop belongs together.
      if (queue.length === 1) setImmediate(pump)
    })
}
