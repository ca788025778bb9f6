import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'

/**
 * What goes upstream was decided on the rules of this moment. A body may take its agent hours to send: whatever changed
 * meanwhile (the agent was suspended, a permission taken back, a credential replaced) holds for it as for any other
 * request. Costs a comparison when nothing did.
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
