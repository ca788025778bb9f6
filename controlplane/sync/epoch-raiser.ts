import type { Clock } from '../../core/state/clock.ts'
import type { Query } from '../db/query.ts'
import { raiseEpoch, type SeenOrders } from '../db/state-order.ts'

/**
 * Begins a new epoch when the database has an earlier state than a gateway or this replica has seen, because
 * the database lost commits. Resolves to true when an epoch began.
 */
export type EpochRaiser = (seen: SeenOrders) => Promise<boolean>

const RAISE_EVERY_MS = 60_000

/**
 * Creates the function that begins epochs. Gateways report the states that they have seen, and gateways are not
 * trusted. Therefore, at most one epoch begins per minute. An unnecessary epoch does no harm, because it only causes
 * every state to be sent again.
 */
export function createEpochRaiser(db: Query, { monotonicMs }: Pick<Clock, 'monotonicMs'>): EpochRaiser {
  let raisedAt = Number.NEGATIVE_INFINITY
  return async (seen) => {
    if (monotonicMs() - raisedAt < RAISE_EVERY_MS) return false
    const isRaised = await raiseEpoch(db, seen)
    if (isRaised) raisedAt = monotonicMs()
    return isRaised
  }
}
