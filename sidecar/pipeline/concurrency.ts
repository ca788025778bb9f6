import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from './exchange.ts'
import type { Identified } from './phases.ts'

/**
 * Limits the exchanges in progress of each agent. Upstream connection pools have no limit, because this one bounds
 * them.
 */
export type Concurrency = {
  /** Counts the exchange until it is released. Returns false when the agent has reached its limit. */
  admit(exchange: Identified): boolean
  release(exchange: Exchange): void
}

export function createConcurrency(limit: number = LIMITS.maxConcurrentPerAgent): Concurrency {
  const counts = new Map<string, number>()
  return {
    admit(exchange) {
      const name = exchange.agent?.name ?? ''
      const now = counts.get(name) ?? 0
      if (now >= limit) return false
      counts.set(name, now + 1)
      exchange.isAdmitted = true
      return true
    },
    release(exchange) {
      if (!exchange.isAdmitted) return
      exchange.isAdmitted = false
      const name = exchange.agent?.name ?? ''
      // The entry stays at 0 instead of being deleted, because there are few agents and they return.
      counts.set(name, (counts.get(name) ?? 1) - 1)
    },
  }
}
