import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'

/**
 * Creates the stage that decides again when the snapshot has changed since the decision. An agent may take hours to
 * send its body, and may since have been suspended or have lost a permission or credential. When nothing has changed,
 * the stage costs one comparison.
 */
export function createRenew(ports: Pick<PipelinePorts, 'snapshot'>, stages: readonly Stage[]): Stage {
  // An approved request was decided again after its approval, and has not waited since.
  const isStale = (exchange: Exchange): boolean =>
    ports.snapshot() !== exchange.snapshot && exchange.approvalId === undefined
  return {
    name: 'renew',
    run: (exchange) => (isStale(exchange) ? renew(exchange) : 'continue'),
  }

  async function renew(exchange: Exchange): Promise<StageResult> {
    while (isStale(exchange)) {
      if ((await runAll(stages, exchange)) === 'responded') return 'responded'
    }
    return 'continue'
  }
}

/** Runs stages in order until one has responded. Rejects when the exchange was aborted. */
export async function runAll(stages: readonly Stage[], exchange: Exchange): Promise<StageResult> {
  for (const stage of stages) {
    exchange.abort.signal.throwIfAborted()
    exchange.stage = stage.name
    if ((await stage.run(exchange)) === 'responded') return 'responded'
  }
  return 'continue'
}
