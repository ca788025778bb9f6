import type { Sliced } from '../../core/sliced.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import type { Exchange } from './exchange.ts'
import type { StageClock } from './stage-runner.ts'

/**
 * Shares the event loop between long computations. Each turn of the event loop runs one slice of paced work, so
 * sockets, including the control stream with kill switches, are served between slices. Agents take turns; the work of
 * one agent runs in order of arrival.
 */
export type Pacer = {
  /** Resolves in a turn of the event loop in which no other paced work runs. Rejects when the exchange was aborted. */
  turn(exchange: Exchange): Promise<undefined>
  /** Returns the promise of a turn for an exchange with a body above the pacing limit; null for other exchanges. */
  turnForBody(exchange: Exchange): Promise<undefined> | null
  /** Runs the work in slices. Rejects before the next slice when the exchange was aborted. */
  run<T>(exchange: Exchange, work: Sliced<T>): Promise<T>
  /**
   * Runs the work in slices within a time budget. When the budget is used up, abandons the work and resolves with null.
   */
  runWithin<T>(exchange: Exchange, work: Sliced<T>, budget: TimeBudget): Promise<T | null>
}

export type TimeBudget = { leftMs: number }

/** Creates the pacer. `schedule` must call back in a later turn of the event loop, after its sockets were served. */
export function createPacer(stages: StageClock, schedule: (wake: () => void) => void = setImmediate): Pacer {
  /** Waiting work by agent, in the order in which the agents take turns. */
  const waiting = new Map<string, Array<() => void>>()

  function wake(): void {
    const [first] = waiting
    if (first === undefined) return
    const [agent, queue] = first
    waiting.delete(agent)
    const resume = queue.shift()
    if (queue.length > 0) waiting.set(agent, queue)
    resume?.()
    if (waiting.size > 0) schedule(wake)
  }

  function wait(agent: string, resume: () => void): void {
    if (waiting.size === 0) schedule(wake)
    const queue = waiting.get(agent)
    if (queue === undefined) waiting.set(agent, [resume])
    else queue.push(resume)
  }

  async function turn(exchange: Exchange): Promise<undefined> {
    await new Promise<void>((resolve) => wait(exchange.agent?.name ?? '', resolve))
    exchange.abort.signal.throwIfAborted()
    stages.enter(exchange.stage ?? 'other')
  }

  return {
    turn,
    turnForBody: (exchange) =>
      (exchange.bodyBytes?.length ?? 0) > LIMITS.pacedBodyBytes ? turn(exchange) : null,
    async run(exchange, work) {
      for (;;) {
        await turn(exchange)
        const step = work.next()
        stages.leave()
        if (step.done === true) return step.value
      }
    },
    async runWithin(exchange, work, budget) {
      while (budget.leftMs > 0) {
        await turn(exchange)
        const step = work.next()
        budget.leftMs -= stages.leave()
        if (step.done === true) return step.value
      }
      return null
    },
  }
}
