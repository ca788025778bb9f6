import { type Cleared, type HasIntent, identifyRecord, type SystemCleared, setIntent } from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { buildRecord } from '../record/record.ts'
import { refuse } from '../refusal/refuse.ts'
import type { Stage } from '../stage.ts'

/**
 * Creates the stage that writes the intent to the journal before the first byte is sent upstream. When the journal is
 * not writable, no request is forwarded.
 */
export function createIntent<Phase extends Cleared | SystemCleared>(
  ports: PipelinePorts,
): Stage<Phase, Phase & HasIntent> {
  return {
    name: 'intent',
    run(exchange) {
      const { journal } = ports
      if (!journal.isWritable)
        return refuse(exchange, { code: 'journal_unavailable', reason: 'not_ready', detail: journal.problem })
      const identified = identifyRecord(exchange, ports)
      return setIntent(identified, journal.intent(buildRecord(identified, ports))).intent.written
    },
  }
}
