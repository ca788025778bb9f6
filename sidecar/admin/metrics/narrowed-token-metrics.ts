import type { NarrowedOutcome } from '../../control/narrowed-tokens.ts'
import { type Exposition, labelText } from './exposition.ts'

export type NarrowedTokenMetrics = {
  answered(outcome: NarrowedOutcome): void
  /** Writes the metrics. `cached`: number of cached answers. */
  write(out: Exposition, cached: number): Exposition
}

/**
 * Creates the counters of tokens that are narrowed to the actions of a request. Their label needs no bound: outcomes
 * are a closed set.
 */
export function createNarrowedTokenMetrics(): NarrowedTokenMetrics {
  const counts = new Map<NarrowedOutcome, number>()
  return {
    answered: (outcome) => void counts.set(outcome, (counts.get(outcome) ?? 0) + 1),
    write(out, cached) {
      const answers = 'svc_narrowed_token_requests_total'
      out.family(
        answers,
        'counter',
        'Requests of Connectors with narrowed tokens, by outcome: hit (cached token), miss (new token), whole (token of the Connector instead), kept (last token, as no new one was issued), unavailable (no valid token).',
      )
      for (const [outcome, n] of counts) out.sample(answers, labelText({ outcome }), n)
      const size = 'svc_narrowed_tokens_cached'
      out.family(size, 'gauge', 'Cached tokens that are narrowed to the actions of one request.')
      out.sample(size, '', cached)
      return out
    },
  }
}
