import type { Clock } from '../../core/state/clock.ts'
import type { Query } from '../db/query.ts'
import { raiseEpoch, type SeenOrders } from '../db/state-order.ts'

/** Begins a new epoch when the database is behind a state that a gateway has seen. Returns whether it began one. */
export type EpochRaiser = (seen: SeenOrders) => Promise<boolean>

const RAISE_EVERY_MS = 60_000

/**
 * Creates the function that begins epochs. States that gateways report are not trusted, so they cause at most one epoch
 * a minute. An unnecessary epoch does no harm: every state is sent again.
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
