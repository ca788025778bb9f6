import { describe, expect, test } from 'vitest'
import fc from '../../support/fast-check.ts'
import { randomDocument } from './graphql-document.ts'
import { executed, namedBy } from './graphql-server.ts'
import { LONG_MS, runs } from './runs.ts'

describe('GraphQL documents', () => {
  test(
    'with aliases, nested fragments, conditions and several operations are classified by exactly the fields that a server executes',
    () => {
      const seen = { named: 0, empty: 0 }
      fc.assert(
        fc.property(fc.integer(), (seed) => {
          const message = randomDocument(seed)
          const wanted = executed(message)
          const found = namedBy(message)
          // A server does nothing for an operation that leaves everything out: so may we.
          if (found === null) {
            expect([...wanted]).toEqual([])
            seen.empty += 1
            return
          }
          seen.named += 1
          expect([...found].sort()).toEqual([...wanted].sort())
        }),
        runs(1_500),
      )
      expect(seen.named).toBeGreaterThan(seen.empty * 4)
    },
    LONG_MS,
  )
})
