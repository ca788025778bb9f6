import type { Exchange, Stage, StageResult } from './exchange.ts'
import type { Pacer } from './pacer.ts'
import type { StageClock } from './stage-clock.ts'

export type StageRunner = {
  /**
   * Runs stages in order until one has responded. Synchronous stages run without a promise, and most requests need no
   * promise before `intent`. Rejects when the exchange was aborted before a stage.
   */
  run(stages: readonly Stage[], exchange: Exchange): StageResult | Promise<StageResult | undefined>
}

type Loop = { readonly pacer: Pick<Pacer, 'turnForBody'>; readonly clock: StageClock }
type Running = StageResult | Promise<StageResult | undefined>

/**
 * Creates the runner. Before each stage of an exchange with a large body, other requests take a turn. The clock measures
 * each stage until the next one or until the stage returns a promise.
 */
export function createStageRunner(loop: Loop): StageRunner {
  return { run: (stages, exchange) => runSynchronously(loop, stages, exchange) }
}

/** Runs the stages up to the first that returns a promise. */
function runSynchronously(loop: Loop, stages: readonly Stage[], exchange: Exchange): Running {
  for (let at = 0; at < stages.length; at++) {
    if (at > 0) exchange.abort.signal.throwIfAborted()
    const result = enter(loop, stages[at], exchange)
    if (result === 'responded') return result
    if (result !== 'continue') return finish(loop, stages, exchange, { result, next: at + 1 })
  }
  return 'continue'
}

/** Awaits a stage and runs the stages after it. */
async function finish(
  loop: Loop,
  stages: readonly Stage[],
  exchange: Exchange,
  { result, next }: { readonly result: Running; readonly next: number },
): Promise<StageResult | undefined> {
  let pending = result
  for (let at = next; ; at++) {
    if (typeof pending !== 'string') {
      loop.clock.leave()
      pending = (await pending) ?? 'continue'
    }
    if (pending === 'responded' || at >= stages.length) return pending
    exchange.abort.signal.throwIfAborted()
    pending = enter(loop, stages[at], exchange)
  }
}

function enter(loop: Loop, stage: Stage | undefined, exchange: Exchange): Running {
  if (stage === undefined) return 'continue'
  const turn = loop.pacer.turnForBody(exchange)
  return turn === null ? start(loop, stage, exchange) : turn.then(() => start(loop, stage, exchange))
}

function start({ clock }: Loop, stage: Stage, exchange: Exchange): Running {
  exchange.stage = stage.name
  if (stage.isQuick !== true) clock.enter(stage.name)
  return stage.run(exchange)
}
