import type { LookUpOutcome } from '../../upstream/look-ups.ts'
import { type Exposition, labelText } from './exposition.ts'

export type LookUpMetrics = {
  asked(connector: string, lookUp: string, outcome: LookUpOutcome): void
  write(out: Exposition): Exposition
}

/**
 * Creates the counters of look-ups, the gateway's own reads from providers. Their labels need no bound: connector types
 * and look-ups are closed sets.
 */
export function createLookUpMetrics(): LookUpMetrics {
  const counts = new Map<string, number>()
  return {
    asked(connector, read, outcome) {
      const labels = labelText({ connector, look_up: read, outcome })
      counts.set(labels, (counts.get(labels) ?? 0) + 1)
    },
    write(out) {
      const name = 'svc_provider_look_ups_total'
      out.family(
        name,
        'counter',
        'Requests that the gateway itself sent to providers to look up state, by look-up and outcome.',
      )
      for (const [labels, n] of counts) out.sample(name, labels, n)
      return out
    },
  }
}
