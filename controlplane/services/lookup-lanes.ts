import type { Lookup } from './recent-answers.ts'

/** Of one kind of secret. The pool has 10 connections. */
const AT_ONCE = 3

/**
 * Runs few look-ups at a time, further ones in the order of their arrival: callers without a valid secret must not take the
 * connections to the database that kill switches and beats need.
 */
export function inLanes<T>(lookup: Lookup<T>): Lookup<T> {
  const waiting: Array<() => void> = []
  let first = 0
  let running = 0

  function leave(): void {
    const next = waiting[first]
    if (next === undefined) {
      running--
      return
    }
    first++
    // Not `shift`, which copies a long queue each time.
    if (first === waiting.length) {
      waiting.length = 0
      first = 0
    }
    next()
  }

  return async (secrets) => {
    if (running < AT_ONCE) running++
    else await new Promise<void>((resolve) => waiting.push(resolve))
    return lookup(secrets).finally(leave)
  }
}
