import type { Lookup } from './recent-answers.ts'

/** Of one kind of secret. The pool has 10 connections. */
const AT_ONCE = 3

/**
 * Runs few look-ups at a time: callers without a valid secret must not take the connections to the database that kill
 * switches and beats need. Pending look-ups take turns by name, in the order of their arrival within one name, so that a
 * network that floods the control plane delays itself.
 */
export function inLanes<T>(lookup: Lookup<T>): Lookup<T> {
  const turns = createTurns()
  let running = 0

  function leave(): void {
    const next = turns.next()
    if (next === undefined) running--
    else next()
  }

  return async (secrets, turn) => {
    if (running < AT_ONCE) running++
    else await new Promise<void>((resolve) => turns.add(turn, resolve))
    return lookup(secrets, turn).finally(leave)
  }
}

type Queue = { readonly waiting: Array<() => void>; first: number }

function createTurns() {
  /** The name whose turn it is comes first. */
  const queues = new Map<string, Queue>()
  return {
    add(name: string, start: () => void): void {
      const queue = queues.get(name) ?? { waiting: [], first: 0 }
      queue.waiting.push(start)
      queues.set(name, queue)
    },
    next(): (() => void) | undefined {
      const [entry] = queues
      if (entry === undefined) return undefined
      const [name, queue] = entry
      // Not `shift`, which copies a long queue each time.
      const start = queue.waiting[queue.first++]
      queues.delete(name)
      if (queue.first < queue.waiting.length) queues.set(name, queue)
      return start
    },
  }
}
