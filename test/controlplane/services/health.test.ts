import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createHealth } from '../../../controlplane/features/maintenance/health.ts'

/** Database that counts locks of a row. */
function counting() {
  const state = { locks: 0, isAway: false, fullDiskMs: Number.POSITIVE_INFINITY }
  const db = {
    msSinceFullDisk: () => state.fullDiskMs,
    async query(text: string) {
      if (text.includes('for key share')) state.locks += 1
      if (state.isAway) throw new Error('the server is away')
      return { rows: [], rowCount: 0 }
    },
  }
  const deps = { db, connected: () => new Set(['gw_1']), gatewayUrl: async () => null }
  return { state, health: createHealth(deps as never) }
}

test('callers in sequence lock a row at most once a second', async () => {
  const { state, health } = counting()
  for (let n = 0; n < 20; n += 1) expect((await health.report()).status).toBe('healthy')
  expect(state.locks).toBe(1)
  state.isAway = true
  await wait(1_050)
  for (let n = 0; n < 20; n += 1) expect((await health.report()).checks.database.status).toBe('error')
  expect(state.locks).toBe(2)
})

test('a full disk is reported at once', async () => {
  const { state, health } = counting()
  expect((await health.report()).status).toBe('healthy')
  state.fullDiskMs = 0
  expect((await health.report()).checks.database).toMatchObject({ status: 'error', error: 'unavailable' })
  state.fullDiskMs = Number.POSITIVE_INFINITY
  expect((await health.report()).status).toBe('healthy')
})
