import { createSlidingWindow, type SlidingWindow, type Taken } from '../../../core/state/sliding-window.ts'
import type { Message } from '../stream/message-dispatcher.ts'
import { LeasedQuota } from './leased-quota.ts'
import type { AcquireQuotaLease } from './quota-lease-client.ts'

/** More agents than this are never active within one window; beyond it the longest idle ones are forgotten. */
const MAX_AGENTS = 10_000
const WINDOW_MS = 60_000
/** A larger limit is not lent in blocks of ten: each process gets its part of it. */
const MAX_LENT = 6_000

export type RateLimits = {
  /** A promise only where the control plane has to be asked, because others serve this agent too. */
  take(agent: string, perMinute: number): Taken | Promise<Taken>
  /** Which agents (`*`: all) so many processes serve, this one among them. */
  share(agents: Message<'quota'>['agents']): void
  /** How many processes serve the agent, this one among them; those that left count for a minute more. */
  processesOf(agent: string): number
  /** Gives back what is lent. */
  close(): Promise<void>
}

export type RateLimitsDeps = {
  readonly monotonicMs: () => number
  readonly acquireLease: AcquireQuotaLease
  readonly maxAgents?: number
}

type Budget = {
  readonly window: SlidingWindow
  readonly perMinute: number
  lastUsed: number
  shared: LeasedQuota | null
}

/** Until when: what processes that have left admitted counts for a minute more. */
type ServingProcesses = { readonly processes: number; readonly untilMs: number }

/**
 * One exact sliding window per agent, counted here as long as no other process serves the agent, and over all of them
 * otherwise. A changed limit starts a new window.
 */
export function createRateLimits({
  monotonicMs,
  acquireLease,
  maxAgents = MAX_AGENTS,
}: RateLimitsDeps): RateLimits {
  const budgets = new Map<string, Budget>()
  const servingByAgent = new Map<string, ServingProcesses>()

  function budgetOf(agent: string, perMinute: number, now: number): Budget {
    const known = budgets.get(agent)
    if (known?.perMinute === perMinute) return known
    const budget = { window: createSlidingWindow(perMinute), perMinute, lastUsed: now, shared: null }
    budgets.set(agent, budget)
    if (budgets.size > maxAgents) evictIdle(now)
    return budget
  }

  /** An agent whose window is empty loses nothing; if all are busy, the map's oldest goes. */
  function evictIdle(now: number): void {
    for (const [agent, budget] of budgets) {
      if (now - budget.lastUsed >= WINDOW_MS) budgets.delete(agent)
    }
    const oldest = budgets.keys().next()
    if (budgets.size > maxAgents && !oldest.done) budgets.delete(oldest.value)
  }

  function processesOf(agent: string, now: number): number {
    const serving = servingByAgent.get(agent) ?? servingByAgent.get('*')
    return serving === undefined || serving.untilMs <= now ? 1 : serving.processes
  }

  return {
    take(agent, perMinute) {
      const now = monotonicMs()
      const processes = servingByAgent.size === 0 ? 1 : processesOf(agent, now)
      const isLent = processes > 1 && perMinute <= MAX_LENT
      const own = isLent ? perMinute : Math.max(1, Math.floor(perMinute / processes))
      const budget = budgetOf(agent, own, now)
      budget.lastUsed = now
      if (!isLent) return budget.window.take(now)
      budget.shared ??= new LeasedQuota({
        agent,
        perMinute,
        window: budget.window,
        acquireLease,
        monotonicMs,
      })
      return budget.shared.take(now)
    },
    processesOf: (agent) => (servingByAgent.size === 0 ? 1 : processesOf(agent, monotonicMs())),
    share(agents) {
      const untilMs = monotonicMs() + WINDOW_MS
      for (const [agent, serving] of servingByAgent) {
        if (serving.untilMs === Number.POSITIVE_INFINITY) servingByAgent.set(agent, { ...serving, untilMs })
        else if (serving.untilMs <= untilMs - WINDOW_MS) servingByAgent.delete(agent)
      }
      for (const { agent, processes } of agents) {
        servingByAgent.set(agent, { processes, untilMs: Number.POSITIVE_INFINITY })
      }
    },
    async close() {
      await Promise.all([...budgets.values()].map(({ shared }) => shared?.release()))
    },
  }
}
