import { expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createHealth } from '../../../controlplane/features/maintenance/health.ts'

test('concurrent readiness checks share one query of the database', async () => {
  let asked = 0
  const query: Db['query'] = async () => {
    asked++
    return { rows: [{ version: 1 }] as never[], rowCount: 1 }
  }
  const health = createHealth({
    db: { query } as Db,
    connected: () => new Set(),
    gatewayUrl: async () => null,
  })
  const answers = await Promise.all(Array.from({ length: 100 }, () => health.ready()))
  expect(new Set(answers)).toEqual(new Set([true]))
  expect(asked).toBe(1)
  expect(await health.ready()).toBe(true)
  expect(asked).toBe(2)
})
