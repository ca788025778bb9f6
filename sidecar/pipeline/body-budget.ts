import { ChaperoneError } from '../../core/errors.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { Exchange } from './exchange.ts'
import type { Pacer } from './pacer.ts'

/**
 * How much of the gateway's memory each agent may fill with bodies that are read whole: as much as the requests take that
 * may wait for a person. Without it one agent could have every request it may run at once carry 8 MiB.
 */
export type BodyBudget = {
  /**
   * The whole body, also as `exchange.bodyBytes`; null when it is longer than `limit`. Rejects with `rate_limited` when the agent has too much under
   * way already, and when the client goes away.
   */
  read(exchange: Exchange, limit: number): Promise<Buffer | null>
  /** Gives back what the exchange took. */
  release(exchange: Exchange): void
}

/** Bodies that are announced to be this small are bounded by how many requests an agent may run at once. */
const SMALL_BYTES = 64 * 1024
const BUDGET_BYTES = LIMITS.maxPendingHoldsPerAgent * LIMITS.heldBodyBytes

export function createBodyBudget(
  pacer: Pick<Pacer, 'turnForBody'>,
  budgetBytes: number = BUDGET_BYTES,
): BodyBudget {
  const taken = new Map<string, number>()

  /** What was taken for an earlier reading of the same body counts. */
  function reserve(exchange: Exchange, bytes: number): boolean {
    const more = bytes - (exchange.reservedBytes ?? 0)
    if (more <= 0) return true
    const name = exchange.agent?.name ?? ''
    const now = (taken.get(name) ?? 0) + more
    if (now > budgetBytes) return false
    taken.set(name, now)
    exchange.reservedBytes = bytes
    return true
  }

  return {
    async read(exchange, limit) {
      const declared = exchange.request?.body.length
      const bytes = Math.min(declared ?? limit, limit)
      if (bytes > SMALL_BYTES && !reserve(exchange, bytes)) throw tooMuch(exchange)
      const whole = await exchange.body.buffer(limit)
      if (whole === null) return null
      exchange.bodyBytes = whole
      await pacer.turnForBody(exchange)
      return whole
    },
    release(exchange) {
      const { agent, reservedBytes } = exchange
      if (reservedBytes === undefined) return
      const name = agent?.name ?? ''
      const left = (taken.get(name) ?? 0) - reservedBytes
      if (left > 0) taken.set(name, left)
      else taken.delete(name)
      exchange.reservedBytes = undefined
    },
  }
}

function tooMuch({ agent }: Exchange): ChaperoneError {
  const detail = `Agent "${agent?.name}" has as many large bodies under way as the gateway keeps for it. Wait until some of its requests are answered.`
  return new ChaperoneError('rate_limited', { detail, retryAfterS: 1 })
}
