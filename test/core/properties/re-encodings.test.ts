import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../core/request/canonical.ts'
import fc from '../../support/fast-check.ts'
import { boundOf, nameRequest } from '../connectors/golden.ts'
import { type PlainRequest, type Provider, plainRequest } from './plain-request.ts'
import { LONG_MS, runs } from './runs.ts'
import { otherwise, plainly, type Spelt } from './spelling.ts'

const BOUND = {
  codehost: boundOf('codehost'),
  llm_a: boundOf('llm_a'),
  llm_b: boundOf('llm_b'),
  llm_c: boundOf('llm_c'),
  payments: boundOf('payments'),
  chat: boundOf('chat'),
} satisfies Record<Provider, unknown>

/** Everything that is known of the request by its name, as text; null where it is refused. */
function classOf(request: PlainRequest, { raw, body }: Spelt): string | null {
  const named = nameRequest(BOUND[request.provider], raw, body ?? '')
  return isRefusal(named) ? null : JSON.stringify(sorted(named))
}

/** Members in the order of their names: an object's order is not part of what it says. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([key, member]) => [key, sorted(member)]))
}

describe('another spelling of the same request', () => {
  test(
    'has the same name, effect, risk, target and parameters, or is refused',
    () => {
      const seen = { named: 0, refused: 0 }
      fc.assert(
        fc.property(plainRequest, fc.integer(), (request, seed) => {
          const wanted = classOf(request, plainly(request))
          if (wanted === null) return
          const found = classOf(request, otherwise(request, seed))
          if (found === null) seen.refused += 1
          else {
            seen.named += 1
            expect(found).toBe(wanted)
          }
        }),
        runs(4_000),
      )
      // Refusing everything would be stable as well.
      expect(seen.refused).toBeLessThan(seen.named / 20)
    },
    LONG_MS,
  )
})
