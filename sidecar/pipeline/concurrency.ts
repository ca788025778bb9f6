import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from './exchange.ts'

/** Limits the exchanges of each agent in progress. Upstream pools have no limit of their own. */
export type Concurrency = {
  /** False when the agent has as many as it may have; an admitted exchange counts until it is released. */
  admit(exchange: Exchange): boolean
  release(exchange: Exchange): void
}

export function createConcurrency(limit: number = LIMITS.maxConcurrentPerAgent): Concurrency {
  const counts = new Map<string, number>()
  const admitted = new WeakSet<Exchange>()
  return {
    admit(exchange) {
      const name = exchange.agent?.name ?? ''
      const now = counts.get(name) ?? 0
      if (now >= limit) return false
      counts.set(name, now + 1)
      admitted.add(exchange)
      return true
    },
    release(exchange) {
      if (!admitted.delete(exchange)) return
      const name = exchange.agent?.name ?? ''
      // Not taken out at 0: there are few agents, and the same ones come again.
      counts.set(name, (counts.get(name) ?? 1) - 1)
    },
  }
}
