import { createFairQueue } from '../../fair-queue.ts'
import type { Lookup } from './recent-lookups.ts'

/** Maximum number of concurrent look-ups per kind of secret. The pool has 10 connections. */
const AT_ONCE = 3

/**
 * Limits concurrent look-ups, so that callers without a valid secret cannot exhaust the database connections that kill
 * switches and heartbeats need.
 */
export function queueLookups<T>(lookup: Lookup<T>): Lookup<T> {
  const inTurn = createFairQueue({ atOnce: AT_ONCE })
  return (secrets, turn) => inTurn(turn, () => lookup(secrets, turn))
}
