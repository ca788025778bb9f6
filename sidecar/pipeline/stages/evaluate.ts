import { Evaluation } from '../evaluation.ts'
import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { StageRunner } from '../stage-runner.ts'

/** Evaluates a request: the result is the evaluation of the exchange, or a refusal. */
export type Evaluate = (exchange: Exchange) => StageResult | Promise<StageResult | undefined>

export type Evaluations = {
  /** Names the request and decides about it under the snapshot of the exchange, with its body if that was read. */
  readonly evaluate: Evaluate
  /** Does the same under the current snapshot, whose agents, connectors and kill switches may differ. */
  readonly renew: Evaluate
}

/**
 * Creates both functions. `naming` are the stages that name and decide, `entering` those that apply a snapshot to the
 * exchange before.
 */
export function createEvaluations(
  runner: StageRunner,
  { entering, naming }: { readonly entering: readonly Stage[]; readonly naming: readonly Stage[] },
): Evaluations {
  const evaluate: Evaluate = (exchange) => {
    // For a host without a connector, the stage `route` has decided.
    if (exchange.connector === undefined) return 'continue'
    exchange.evaluation = new Evaluation()
    return runner.run(naming, exchange)
  }
  const renewing: readonly Stage[] = [...entering, { name: 'evaluate', isQuick: true, run: evaluate }]
  return { evaluate, renew: (exchange) => runner.run(renewing, exchange) }
}
