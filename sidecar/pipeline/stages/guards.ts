import type { Taken } from '../../../core/state/sliding-window.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { classifyRefused } from '../classification/classify-refused.ts'
import type { Exchange } from '../exchange.ts'
import { killNames } from '../kill-names.ts'
import type { Identified, Read, Received, Routed } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { refuse, refuseKilled } from '../refusal/refuse.ts'
import type { Eventual, Stage, StageResult } from '../stage.ts'

export function createKillGuard(ports: PipelinePorts, reader: BodyReader): Stage<Read, Read> {
  return {
    name: 'kill',
    isQuick: true,
    run(exchange): Eventual<Read> {
      const entry = matchingKill(exchange, ports)
      if (entry === null) return exchange
      const { connector } = exchange
      const named = connector === undefined ? undefined : classifyRefused(exchange, connector, reader)
      if (named === undefined) return refuseKilled(exchange, entry)
      return named.then(() => refuseKilled(exchange, entry))
    },
  }
}

/**
 * Returns the kill switch entry that covers this exchange, or null (see `killNames`). While the connector is not
 * determined, scopes of connectors do not match.
 */
export function matchingKill(exchange: Exchange, ports: Pick<PipelinePorts, 'kill'>): KillEntry | null {
  const { agent } = exchange
  return ports.kill.match({
    agent: agent?.name ?? null,
    agentId: agent?.id ?? null,
    connectors: killNames(exchange),
  })
}

/**
 * Creates the stage that checks every request before its classification: the lease of the gateway, the rate limit and
 * the number of concurrent requests of the agent.
 */
export function createGuards(ports: PipelinePorts, concurrency: Concurrency): Stage<Routed, Routed> {
  function judge(exchange: Routed, slot: Taken, perMinute: number): StageResult<Routed> {
    if (!slot.ok) return refuseRate(exchange, slot.retryAfterS, `${perMinute} requests in one minute`)
    if (concurrency.admit(exchange)) return exchange
    return refuseRate(exchange, 1, 'the maximum number of concurrent requests')
  }
  return {
    name: 'guards',
    isQuick: true,
    run(exchange): Eventual<Routed> {
      if (ports.lease.step() === 'everything') return refuseLost(exchange)
      const perMinute = exchange.snapshot.gateway.rateLimit.requestsPerMinute
      const slot = ports.rate.take(exchange.agent.name, perMinute, exchange.instance?.claim)
      if (slot instanceof Promise) return slot.then((taken) => judge(exchange, taken, perMinute))
      return judge(exchange, slot, perMinute)
    },
  }
}

/** Refuses a request because the control plane was lost for longer than the `failurePolicy` of the Gateway allows. */
export function refuseLost(exchange: Received): 'responded' {
  const detail =
    'The gateway has had no connection to the control plane for longer than failurePolicy of the Gateway allows for this action. Try again when the control plane is reachable.'
  return refuse(exchange, { code: 'lease_expired', reason: 'not_ready', detail })
}

function refuseRate(exchange: Identified, retryAfterS: number, what: string): 'responded' {
  const detail = `Agent "${exchange.agent.name}" has sent ${what}. Wait ${retryAfterS} s and send the request again.`
  return refuse(exchange, { code: 'rate_limited', reason: 'rate_limit', detail, retryAfterS })
}

/**
 * Limits the exchanges in progress of each agent. Upstream connection pools have no limit, because this limit bounds
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
      const { name } = exchange.agent
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
      // The count stays at 0 instead of being deleted, because there are few agents and each usually sends further
      // requests.
      counts.set(name, (counts.get(name) ?? 1) - 1)
    },
  }
}
