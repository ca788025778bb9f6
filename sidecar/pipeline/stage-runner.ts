import type { Exchange } from './exchange.ts'
import type { Pacer } from './pacer.ts'
import type { Eventual, Stage } from './stage.ts'

/** Stages in order. Each takes the phase that the stage before it returns. */
export type Stages<In, Out> = {
  /** Returns the list with one more stage. */
  readonly next: <Next extends Exchange>(stage: Stage<Out, Next>) => Stages<In, Next>
  /**
   * Runs the stages until one has responded. Synchronous stages run without a promise, and most requests need no
   * promise before `intent`. Rejects when the exchange was aborted before a stage.
   */
  readonly run: (exchange: In) => Eventual<Out>
}

export type StageRunner = {
  /** Returns the list that begins with this stage. */
  first<In extends Exchange, Next extends Exchange>(stage: Stage<In, Next>): Stages<In, Next>
}

type Loop = { readonly pacer: Pick<Pacer, 'turnForBody'>; readonly clock: StageClock }
/** A stage of a list whose order `Stages` has checked: each receives the exchange that the stage before returned. */
type AnyStage = Stage<never, Exchange>
type Running = Eventual<Exchange> | Promise<Exchange | 'responded' | undefined>

/**
 * Creates the runner. Before each stage of an exchange with a large body, other requests take a turn. The clock
 * measures each stage until the next one or until the stage returns a promise.
 */
export function createStageRunner(loop: Loop): StageRunner {
  return { first: (stage) => listOf(loop, [stage]) }
}

function listOf<In extends Exchange, Out extends Exchange>(
  loop: Loop,
  stages: readonly AnyStage[],
): Stages<In, Out> {
  return {
    next: (stage) => listOf(loop, [...stages, stage]),
    // All stages return the exchange that they were given, which the last stage has brought to phase `Out`.
    run: (exchange) => runSynchronously(loop, stages, exchange) as Eventual<Out>,
  }
}

/** Runs the stages up to the first that returns a promise. */
function runSynchronously(loop: Loop, stages: readonly AnyStage[], exchange: Exchange): Eventual<Exchange> {
  for (let at = 0; at < stages.length; at++) {
    if (at > 0) exchange.abort.signal.throwIfAborted()
    const result = enter(loop, stages[at], exchange)
    if (result === 'responded') return result
    if (result instanceof Promise) return finish(loop, stages, exchange, { result, next: at + 1 })
  }
  return exchange
}

/** Awaits a stage and runs the stages after it. */
async function finish(
  loop: Loop,
  stages: readonly AnyStage[],
  exchange: Exchange,
  { result, next }: { readonly result: Running; readonly next: number },
): Promise<Exchange | 'responded'> {
  let pending = result
  for (let at = next; ; at++) {
    if (pending instanceof Promise) {
      loop.clock.leave()
      pending = (await pending) ?? exchange
    }
    if (pending === 'responded' || at >= stages.length) return pending
    exchange.abort.signal.throwIfAborted()
    pending = enter(loop, stages[at], exchange)
  }
}

function enter(loop: Loop, stage: AnyStage | undefined, exchange: Exchange): Running {
  if (stage === undefined) return exchange
  const turn = loop.pacer.turnForBody(exchange)
  return turn === null ? start(loop, stage, exchange) : turn.then(() => start(loop, stage, exchange))
}

function start({ clock }: Loop, stage: AnyStage, exchange: Exchange): Running {
  exchange.stage = stage.name
  if (stage.isQuick !== true) clock.enter(stage.name)
  return stage.run(exchange as never)
}
/**
 * Longest time in milliseconds for which a stage ran without returning to the event loop, with the name of the stage.
 */
export type LongestRun = { readonly stage: string; readonly ms: number }

/**
 * Measures how long each stage runs without returning to the event loop. The pipeline calls `enter` when it starts or
 * resumes a stage; the synchronous code until the next call counts for that stage.
 */
export type StageClock = {
  /** Starts the measurement of a stage and ends the previous one. */
  enter(stage: string): void
  /** Ends the measurement before control returns to the event loop. Returns the run time in milliseconds. */
  leave(): number
  /** Returns the longest run since `takeLongest` was last called; null when no stage has run since. */
  takeLongest(): LongestRun | null
}

export function createStageClock(monotonicMs: () => number): StageClock {
  let current: string | null = null
  let since = 0
  let longest: LongestRun | null = null

  function close(now: number): number {
    if (current === null) return 0
    const ms = now - since
    if (longest === null || ms > longest.ms) longest = { stage: current, ms }
    current = null
    return ms
  }

  return {
    enter(stage) {
      const now = monotonicMs()
      close(now)
      current = stage
      since = now
    },
    leave: () => (current === null ? 0 : close(monotonicMs())),
    takeLongest() {
      const taken = longest
      longest = null
      return taken
    },
  }
}
