/** Runs `work` when the queue of the caller `name` has its turn. Rejects with the error of `work`. */
export type FairQueue = <T>(name: string, work: () => Promise<T>) => Promise<T>

export type FairQueueOptions = {
  readonly atOnce: number
  /** Maximum number of waiting calls, and the error of a rejected call. Absent means no limit. */
  readonly limit?: { readonly waiting: number; readonly full: () => Error }
}

/**
 * Creates a queue that runs at most `atOnce` calls at a time. The names of waiting calls take turns; calls of one
 * name run first in, first out. Therefore, a caller with many calls delays only itself. Above the limit, the newest
 * call of the name with the most calls is rejected.
 */
export function createFairQueue({ atOnce, limit }: FairQueueOptions): FairQueue {
  const turns = createTurns()
  let running = 0

  function wait(name: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    turns.add(name, { start: resolve, reject })
    if (limit !== undefined && turns.size > limit.waiting) turns.dropNewest()?.reject(limit.full())
    return promise
  }

  function leave(): void {
    const next = turns.next()
    if (next === undefined) running--
    else next.start()
  }

  return async (name, work) => {
    if (running < atOnce) running++
    else await wait(name)
    return work().finally(leave)
  }
}

type Waiter = { start(): void; reject(error: Error): void }
type Turn = { readonly waiting: Waiter[]; first: number }

function createTurns() {
  /** Names with waiting calls, in the order of their turns. */
  const turns = new Map<string, Turn>()
  let size = 0
  const lengthOf = ({ waiting, first }: Turn) => waiting.length - first

  return {
    get size() {
      return size
    },
    add(name: string, waiter: Waiter): void {
      const turn = turns.get(name) ?? { waiting: [], first: 0 }
      turn.waiting.push(waiter)
      turns.set(name, turn)
      size++
    },
    next(): Waiter | undefined {
      const [entry] = turns
      if (entry === undefined) return undefined
      const [name, turn] = entry
      // Increments an index instead of calling `shift`, because `shift` copies a long queue on every call.
      const waiter = turn.waiting[turn.first++]
      turns.delete(name)
      if (lengthOf(turn) > 0) turns.set(name, turn)
      size--
      return waiter
    },
    /** Removes the newest call of the name with the most waiting calls. */
    dropNewest(): Waiter | undefined {
      const [largest] = [...turns].sort(([, a], [, b]) => lengthOf(b) - lengthOf(a))
      if (largest === undefined) return undefined
      const [name, turn] = largest
      const waiter = turn.waiting.pop()
      if (lengthOf(turn) === 0) turns.delete(name)
      size--
      return waiter
    },
  }
}
