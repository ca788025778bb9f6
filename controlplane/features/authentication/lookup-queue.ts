import { createFairQueue } from '../../fair-queue.ts'
import type { Lookup } from './recent-lookups.ts'

/**
 * Maximum number of concurrent queries per kind of secret (session id, key or token). The connection pool of the
 * database has 10 connections.
 */
const AT_ONCE = 3

/**
 * Limits the concurrent database queries for presented secrets. Otherwise callers without a valid secret could use all
 * database connections, which kill switches and heartbeats need.
 */
export function queueLookups<T>(lookup: Lookup<T>): Lookup<T> {
  const inTurn = createFairQueue({ atOnce: AT_ONCE })
  return (secrets, turn) => inTurn(turn, () => lookup(secrets, turn))
}
