import type { Stage } from '../exchange.ts'
import type { PipelinePorts } from '../ports.ts'
import { buildRecord } from '../record.ts'
import { refuse } from '../refuse.ts'

/** Writes down what is about to happen before the first byte goes upstream; without a journal nothing goes. */
export function createIntent(ports: PipelinePorts): Stage {
  return {
    name: 'intent',
    run(exchange) {
      if (!ports.journal.isWritable) {
        const detail =
          'The gateway cannot write its journal, so it forwards nothing. Free disk space or mend the volume.'
        return refuse(exchange, { code: 'journal_unavailable', reason: 'not_ready', detail })
      }
      exchange.intent = ports.journal.intent(buildRecord(exchange, ports))
      return exchange.intent.written
    },
  }
}
