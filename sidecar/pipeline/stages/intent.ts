import type { Stage } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { buildRecord } from '../record/record.ts'
import { refuse } from '../refusal/refuse.ts'

/** Writes down what is about to happen before the first byte goes upstream; without a journal nothing goes. */
export function createIntent(ports: PipelinePorts): Stage {
  return {
    name: 'intent',
    run(exchange) {
      const { journal } = ports
      if (!journal.isWritable)
        return refuse(exchange, { code: 'journal_unavailable', reason: 'not_ready', detail: journal.problem })
      exchange.intent = journal.intent(buildRecord(exchange, ports))
      return exchange.intent.written
    },
  }
}
