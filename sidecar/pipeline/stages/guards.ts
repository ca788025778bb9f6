import type { Taken } from '../../../core/state/sliding-window.ts'
import { classifyRefused } from '../classification/classify-refused.ts'
import type { Concurrency } from '../concurrency.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import { matchingKill } from '../kill-switch.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseKilled } from '../refusal/refuse.ts'

export function createKillGuard(ports: PipelinePorts): Stage {
  return {
    name: 'kill',
    isQuick: true,
    run(exchange) {
      const entry = matchingKill(exchange, ports)
      if (entry === null) return 'continue'
      const named = classifyRefused(exchange)
      if (named === undefined) return refuseKilled(exchange, entry)
      return named.then(() => refuseKilled(exchange, entry))
    },
  }
}

/**
 * Creates the stage that checks every request before its classification: the lease of the gateway, the rate limit and
 * the number of concurrent requests of the agent.
 */
export function createGuards(ports: PipelinePorts, concurrency: Concurrency): Stage {
  function judge(exchange: Exchange, slot: Taken, perMinute: number): StageResult {
    if (!slot.ok) return refuseRate(exchange, slot.retryAfterS, `${perMinute} requests in one minute`)
    if (concurrency.admit(exchange)) return 'continue'
    return refuseRate(exchange, 1, 'the maximum number of concurrent requests')
  }
  return {
    name: 'guards',
    isQuick: true,
    run(exchange) {
      if (ports.lease.step() === 'everything') return refuseLost(exchange)
      const perMinute = exchange.snapshot?.gateway.rateLimit.requestsPerMinute ?? 0
      const slot = ports.rate.take(exchange.agent?.name ?? '', perMinute, exchange.instance?.claim)
      if (slot instanceof Promise) return slot.then((taken) => judge(exchange, taken, perMinute))
      return judge(exchange, slot, perMinute)
    },
  }
}

/** Refuses a request because the control plane was lost for longer than the `failurePolicy` of the Gateway allows. */
export function refuseLost(exchange: Exchange): StageResult {
  const detail =
    'The gateway has had no connection to the control plane for longer than failurePolicy allows for this action. Try again when the control plane is reachable.'
  return refuse(exchange, { code: 'lease_expired', reason: 'not_ready', detail })
}

function refuseRate(exchange: Exchange, retryAfterS: number, what: string): StageResult {
  const detail = `Agent "${exchange.agent?.name}" has sent ${what}. Wait ${retryAfterS} s and send the request again.`
  return refuse(exchange, { code: 'rate_limited', reason: 'rate_limit', detail, retryAfterS })
}
