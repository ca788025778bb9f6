import type { Stage } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { buildRecord } from '../record/record.ts'
import { refuse } from '../refusal/refuse.ts'

/**
 * Creates the stage that writes the intent to the journal before the first byte is sent upstream. When the journal is
 * not writable, no request is forwarded.
 */
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
