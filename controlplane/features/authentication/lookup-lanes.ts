import { createFairQueue } from '../../fair-queue.ts'
import type { Lookup } from './recent-lookups.ts'

/** Of one kind of secret. The pool has 10 connections. */
const AT_ONCE = 3

/**
 * Runs few look-ups at a time: callers without a valid secret must not take the connections to the database that kill
 * switches and beats need.
 */
export function inLanes<T>(lookup: Lookup<T>): Lookup<T> {
  const inTurn = createFairQueue({ atOnce: AT_ONCE })
  return (secrets, turn) => inTurn(turn, () => lookup(secrets, turn))
}
