import type { Exchange, Stage, StageResult } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import type { Evaluate } from './evaluate.ts'

/**
 * Creates the stage that evaluates and clears the request again when the snapshot has changed since the decision. An
 * agent may take hours to send its body, and may since have been suspended or have lost a permission or credential.
 * When nothing has changed, the stage costs one comparison.
 */
export function createRenew(
  ports: Pick<PipelinePorts, 'snapshot'>,
  { evaluate, clear }: { readonly evaluate: Evaluate; readonly clear: Evaluate },
): Stage {
  // An approved request was decided again after its approval, and has not waited since.
  const isStale = (exchange: Exchange): boolean =>
    ports.snapshot() !== exchange.snapshot && exchange.approvalId === undefined
  return {
    name: 'renew',
    isQuick: true,
    run: (exchange) => (isStale(exchange) ? renew(exchange) : 'continue'),
  }

  async function renew(exchange: Exchange): Promise<StageResult> {
    while (isStale(exchange)) {
      if ((await evaluate(exchange)) === 'responded') return 'responded'
      if ((await clear(exchange)) === 'responded') return 'responded'
    }
    return 'continue'
  }
}
