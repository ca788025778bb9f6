import type { Clock } from '../../core/state/clock.ts'
import type { Query } from '../db/query.ts'
import { raiseEpoch, type SeenOrders } from '../db/state-order.ts'

/** Begins a new epoch when the database went back behind what a gateway has seen. True when it did. */
export type EpochRaiser = (seen: SeenOrders) => Promise<boolean>

const RAISE_EVERY_MS = 60_000

/**
 * What a gateway claims is not believed: at most once a minute it may cause a new epoch, which does no harm, because
 * every state is then sent again.
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
