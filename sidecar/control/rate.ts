import { createSlidingWindow, type SlidingWindow } from '../../core/state/sliding-window.ts'
import type { PipelinePorts } from '../pipeline/ports.ts'

/** More agents than this are never active within one window; beyond it the longest idle ones are forgotten. */
const MAX_AGENTS = 10_000
const WINDOW_MS = 60_000

type Budget = { readonly window: SlidingWindow; readonly perMinute: number; lastUsed: number }

/** One exact sliding window per agent. A changed limit starts a new window. */
export function createRate(monotonicMs: () => number, maxAgents = MAX_AGENTS): PipelinePorts['rate'] {
  const budgets = new Map<string, Budget>()

  function budgetOf(agent: string, perMinute: number, now: number): Budget {
    const known = budgets.get(agent)
    if (known?.perMinute === perMinute) return known
    const budget = { window: createSlidingWindow(perMinute), perMinute, lastUsed: now }
    budgets.set(agent, budget)
    if (budgets.size > maxAgents) forgetIdle(now)
    return budget
  }

  /** An agent whose window is empty loses nothing; if all are busy, the map's oldest goes. */
  function forgetIdle(now: number): void {
    for (const [agent, budget] of budgets) {
      if (now - budget.lastUsed >= WINDOW_MS) budgets.delete(agent)
    }
    const oldest = budgets.keys().next()
    if (budgets.size > maxAgents && !oldest.done) budgets.delete(oldest.value)
  }

  return {
    take(agent, perMinute) {
      const now = monotonicMs()
      const budget = budgetOf(agent, perMinute, now)
      budget.lastUsed = now
      return budget.window.take(now)
    },
  }
}
