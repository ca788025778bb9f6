import {
  type Cleared,
  type Decided,
  type Evaluated,
  type Governed,
  type Read,
  type Routed,
  startEvaluation,
} from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import type { Eventual, StageResult } from '../stage.ts'
import type { Stages } from '../stage-runner.ts'

export type Evaluations = {
  /**
   * Classifies the request and decides about it under the snapshot of the exchange, with its body if the body was read.
   */
  readonly evaluate: (exchange: Routed) => Eventual<Evaluated>
  /** Evaluates the request again under the current snapshot, whose agents, connectors and kill switches may differ. */
  readonly renew: (exchange: Read) => Eventual<Evaluated>
}

/**
 * Creates the evaluation functions. `deciding`: the stages that classify the request and decide about it. `entering`:
 * the stages that apply the current snapshot before a repeated evaluation.
 */
export function createEvaluations({
  entering,
  deciding,
}: {
  readonly entering: Stages<Read, Routed>
  readonly deciding: Stages<Governed, Decided>
}): Evaluations {
  const evaluate = (exchange: Routed): Eventual<Evaluated> => {
    // For a host without a connector, the stage `route` has decided.
    if (exchange.connector === undefined) return exchange
    startEvaluation(exchange)
    return deciding.run(exchange)
  }
  return { evaluate, renew: entering.next({ name: 'evaluate', isQuick: true, run: evaluate }).run }
}

type RenewDeps = Pick<Evaluations, 'renew'> & {
  readonly clear: (exchange: Evaluated) => Eventual<Evaluated>
}

/**
 * Creates the function that evaluates the request again, and replaces its credentials again, when the snapshot has
 * changed since the decision, for example while the request waited for a credential. An agent may take hours to send
 * its body, and may since have been suspended or have lost a permission or credential. When nothing has changed, the
 * function costs one comparison.
 */
export function createRenew(
  ports: Pick<PipelinePorts, 'snapshot'>,
  { renew, clear }: RenewDeps,
): (exchange: Evaluated) => Eventual<Cleared> {
  // An approved request needs no further evaluation: it was decided again after its approval, and has not waited since.
  const isCurrent = (exchange: Evaluated): exchange is Cleared =>
    exchange.outbound !== undefined &&
    (ports.snapshot() === exchange.snapshot || exchange.approvalId !== undefined)

  async function clearAgain(exchange: Evaluated): Promise<StageResult<Cleared>> {
    let current = exchange
    while (!isCurrent(current)) {
      const evaluated = await renew(current)
      if (evaluated === 'responded') return evaluated
      const cleared = await clear(evaluated)
      if (cleared === 'responded') return cleared
      current = cleared
    }
    return current
  }

  return (exchange) => (isCurrent(exchange) ? exchange : clearAgain(exchange))
}
