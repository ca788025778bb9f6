import { expect, test } from 'vitest'
import type { Query } from '../../../controlplane/db/query.ts'
import { createScopedQuery, type Within } from '../../../controlplane/db/scoped-query.ts'
import { listTraffic } from '../../../controlplane/features/traffic/rows.ts'

type Asked = { readonly text: string; readonly values: readonly unknown[] }

function recorder(): { readonly query: Query; readonly asked: Asked[] } {
  const asked: Asked[] = []
  return {
    asked,
    query: {
      async query(text, values = []) {
        asked.push({ text, values })
        return { rows: [], rowCount: 0 }
      },
    },
  }
}

test('a query on behalf of a user without its namespaces does not compile', async () => {
  const { query } = recorder()
  // @ts-expect-error: `Query` sees every namespace.
  await expect(listTraffic(query, 'org', { filter: {}, limit: 1 })).rejects.toThrow()
})

test('a statement without a condition on the namespaces never reaches the database', async () => {
  for (const namespaces of ['all', new Set(['team'])] as const) {
    const { query, asked } = recorder()
    const scoped = createScopedQuery(query, namespaces)
    await expect(scoped.rows([], () => 'select 1 from agents')).rejects.toThrow(/limited to their namespaces/)
    expect(asked).toEqual([])
  }
})

const CONDITIONS = {
  namespace: (within) => within.namespace('namespace'),
  name: (within) => within.name('name'),
  nameOr: (within) => within.nameOr('agent', 'gateway'),
  each: (within) => within.each('agent', 'gateway', (condition) => `select 1 where ${condition}`),
  overlap: (within) => within.overlap('namespaces'),
  array: (within) => within.array(),
  configuration: (within) => within.configuration('connectors'),
} as const satisfies { readonly [K in keyof Within]: (within: Within) => string }

test.each(Object.keys(CONDITIONS) as (keyof Within)[])(
  'the condition %s names the namespaces as the last value, whatever they are called',
  async (name) => {
    const { query, asked } = recorder()
    const hostile = ["a'; drop table agents; --", '%', 'a/b', '']
    await createScopedQuery(query, new Set(hostile)).rows(['first'], (within) => CONDITIONS[name](within))
    expect(asked[0]?.values).toEqual(['first', hostile])
    expect(asked[0]?.text).toContain('$2::text[]')
    expect(asked[0]?.text).not.toContain('drop table')
  },
)

test('a user with the right in no namespace at all gets no row', async () => {
  const { query, asked } = recorder()
  await createScopedQuery(query, new Set()).rows([], (within) => within.name('name'))
  expect(asked[0]?.values).toEqual([[]])
})
