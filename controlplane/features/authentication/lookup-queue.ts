import { createFairQueue } from '../../fair-queue.ts'
import type { Lookup } from './recent-lookups.ts'

/** Maximum number of concurrent look-ups per kind of secret. The connection pool of the database has 10 connections. */
const AT_ONCE = 3

/**
 * Limits concurrent look-ups of secrets. Otherwise callers without a valid secret could use all database connections,
 * which kill switches and heartbeats need.
 */
export function queueLookups<T>(lookup: Lookup<T>): Lookup<T> {
  const inTurn = createFairQueue({ atOnce: AT_ONCE })
  return (secrets, turn) => inTurn(turn, () => lookup(secrets, turn))
}
