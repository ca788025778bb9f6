import { createSlidingWindow, type SlidingWindow, type Taken } from '../../../core/state/sliding-window.ts'
import type { Message } from '../stream/message-dispatcher.ts'
import { LeasedQuota } from './leased-quota.ts'
import type { AcquireQuotaLease } from './quota-lease-client.ts'

/**
 * Maximum number of agents that are counted. The maximum exceeds the number of active agents of every expected
 * installation. Beyond the maximum, idle agents are evicted first.
 */
const MAX_AGENTS = 10_000
const WINDOW_MS = 60_000
/**
 * Limit in requests per minute above which each process enforces an equal share of the limit instead of leasing slots.
 */
const MAX_LEASED = 6_000

export type RateLimits = {
  /**
   * Admits or refuses one request. Returns a promise only when other processes also serve the agent, because a lease
   * may then be needed. The requests of a SandboxClaim (`claim`) have a window of their own. Only this process counts
   * them, because a claim has one pod.
   */
  take(agent: string, perMinute: number, claim?: string): Taken | Promise<Taken>
  /** Sets the numbers of processes that serve each agent (`*`: every agent), this process included. */
  share(agents: Message<'quota'>['agents']): void
  /**
   * Returns the number of processes that serve the agent, this process included. The number of an agent that the
   * control plane no longer reports applies for one more minute.
   */
  processesOf(agent: string): number
  /** Releases all quota leases. */
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
  leased: LeasedQuota | null
}

/**
 * Number of processes that serve an agent. The number applies until `untilMs`, which is infinite while the control
 * plane reports the agent.
 */
type ServingProcesses = { readonly processes: number; readonly untilMs: number }

/**
 * Creates one exact sliding window for each agent. The window counts in this process while no other process serves the
 * agent; otherwise leases extend the count to all processes. A changed limit starts a new window.
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
    const budget = { window: createSlidingWindow(perMinute), perMinute, lastUsed: now, leased: null }
    budgets.set(agent, budget)
    if (budgets.size > maxAgents) evictIdle(now)
    return budget
  }

  /**
   * Evicts agents without requests in the last window. No count is lost, because the count of such an agent is 0. When
   * all agents are active, evicts the agent that was added first.
   */
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
    take(agent, perMinute, claim) {
      const now = monotonicMs()
      const isAlone = servingByAgent.size === 0 || claim !== undefined
      const processes = isAlone ? 1 : processesOf(agent, now)
      const isLeased = processes > 1 && perMinute <= MAX_LEASED
      const own = isLeased ? perMinute : Math.max(1, Math.floor(perMinute / processes))
      const budget = budgetOf(claim === undefined ? agent : `${agent} ${claim}`, own, now)
      budget.lastUsed = now
      if (!isLeased) return budget.window.take(now)
      budget.leased ??= new LeasedQuota({
        agent,
        perMinute,
        window: budget.window,
        acquireLease,
        monotonicMs,
      })
      return budget.leased.take(now)
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
      await Promise.all([...budgets.values()].map(({ leased }) => leased?.release()))
    },
  }
}
