/** Runs work when it is the turn of its name. Rejects as the work does. */
export type FairQueue = <T>(name: string, work: () => Promise<T>) => Promise<T>

export type FairQueueOptions = {
  readonly atOnce: number
  /** How many may wait, and the error of those beyond it. Any number where it is absent. */
  readonly limit?: { readonly waiting: number; readonly full: () => Error }
}

/**
 * Runs a few at a time. The others take turns by name, in the order of their arrival within one name, so that a caller with
 * many delays itself. When too many wait, the newest of the name with the most is rejected.
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
  /** The name whose turn it is comes first. */
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
      // Not `shift`, which copies a long queue each time.
      const waiter = turn.waiting[turn.first++]
      turns.delete(name)
      if (lengthOf(turn) > 0) turns.set(name, turn)
      size--
      return waiter
    },
    /** Of the name with the most. */
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
