import { expect, test } from 'vitest'
import fc from '../../support/fast-check.ts'
import { randomDocument } from './graphql-document.ts'
import { executed, namedBy } from './graphql-server.ts'
import { LONG_MS, runs } from './runs.ts'

test(
  'GraphQL documents in a batch are named together',
  () => {
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 2, maxLength: 4 }), (seeds) => {
        const messages = seeds.map(randomDocument)
        const all = messages.map(executed)
        const found = namedBy(messages)
        if (found === null) expect(all.some((one) => one.size === 0)).toBe(true)
        else expect([...found].sort()).toEqual([...new Set(all.flatMap((one) => [...one]))].sort())
      }),
      runs(300),
    )
  },
  LONG_MS,
)
