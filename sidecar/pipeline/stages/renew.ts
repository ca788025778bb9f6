import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'

/**
 * Decides again when the snapshot has changed since the decision: an agent may take hours to send its body, and may
 * have been suspended, or lost a permission or credential since. Costs one comparison without a change.
 */
export function createRenew(ports: Pick<PipelinePorts, 'snapshot'>, stages: readonly Stage[]): Stage {
  // After a person's yes everything was decided anew already, and nothing was waited for since.
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

/** Runs stages in order until one has responded. Throws when the exchange was ended. */
export async function runAll(stages: readonly Stage[], exchange: Exchange): Promise<StageResult> {
  for (const stage of stages) {
    exchange.abort.signal.throwIfAborted()
    exchange.stage = stage.name
    if ((await stage.run(exchange)) === 'responded') return 'responded'
  }
  return 'continue'
}
