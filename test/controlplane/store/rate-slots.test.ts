import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { leaseSlots } from '../../../controlplane/features/gateways/processes/quota-lease-store.ts'
import { deleteOldSlots } from '../../../controlplane/features/maintenance/store.ts'
import type { QuotaLeaseBody } from '../../../core/wire/gateway/quota-lease.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let server: TestPostgres
let db: Db

beforeAll(async () => {
  server = await workerPostgres()
  const database = await server.createDatabase()
  db = await openDb({ url: database.url, log: pino({ level: 'silent' }) })
  await migrate(db)
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})
beforeEach(async () => {
  await db.query('truncate quota_uses, quota_leases')
})

const ask = (processId: string, asked: Partial<QuotaLeaseBody>, gatewayId = 'gw_1') =>
  leaseSlots(db, { gatewayId, processId }, { agent: 'bot', per_minute: 12, want: 10, used: [], ...asked })
/** Age of the oldest slot by the clock of the database, in milliseconds. */
async function oldestMs(): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `select (extract(epoch from clock_timestamp() - min(at)) * 1000)::float8 as ms from (
       select used_at as at from quota_uses union all select leased_at from quota_leases) slots`,
    [],
  )
  return rows[0]?.ms ?? 0
}

const ages = (count: number, ms: number) => Array.from({ length: count }, () => ms)

describe('slots of a shared budget', () => {
  test('are lent until all are taken; then it is said when the oldest is a minute old', async () => {
    expect(await ask('a', {})).toEqual({ granted: 10, retry_after_ms: 0 })
    expect(await ask('b', {})).toEqual({ granted: 2, retry_after_ms: 0 })
    const [before, { granted, retry_after_ms }, after] = [
      await oldestMs(),
      await ask('c', {}),
      await oldestMs(),
    ]
    expect(granted).toBe(0)
    expect(retry_after_ms).toBeLessThanOrEqual(60_000 - before)
    expect(retry_after_ms).toBeGreaterThanOrEqual(60_000 - after)
  })

  test('come back with the next question of who has them, and only what was used stays', async () => {
    await ask('a', {})
    expect(await ask('a', { want: 0, used: ages(3, 100) })).toEqual({ granted: 0, retry_after_ms: 0 })
    expect((await ask('b', {})).granted).toBe(9)
  })

  test('are free again a minute after they were used, to the millisecond', async () => {
    await ask('a', { want: 0, used: [...ages(6, 30_000), ...ages(6, 0)] })
    const [before, { granted, retry_after_ms }, after] = [
      await oldestMs(),
      await ask('b', { want: 1 }),
      await oldestMs(),
    ]
    expect(granted).toBe(0)
    expect(retry_after_ms).toBeLessThanOrEqual(60_000 - before)
    expect(retry_after_ms).toBeGreaterThanOrEqual(60_000 - after)
    await db.query("update quota_uses set used_at = used_at - $1 * interval '1 ms'", [retry_after_ms])
    expect((await ask('b', {})).granted).toBe(6)
  })

  test('of a process that never came back are used, for a minute from when they were lent', async () => {
    await ask('gone', {})
    await db.query("update quota_leases set leased_at = leased_at - interval '59 seconds'")
    expect((await ask('b', {})).granted).toBe(2)
    await db.query(
      "update quota_leases set leased_at = leased_at - interval '1 second' where process_id = 'gone'",
    )
    expect((await ask('b', {})).granted).toBe(10)
  })

  test('are of one agent at one gateway', async () => {
    await ask('a', { want: 0, used: ages(12, 5) })
    expect((await ask('a', {})).granted).toBe(0)
    expect((await ask('a', { agent: 'other' })).granted).toBe(10)
    expect((await ask('a', {}, 'gw_2')).granted).toBe(10)
  })

  test('asked for by forty at once are lent exactly once', async () => {
    const asked = Array.from({ length: 40 }, (_, n) => ask(`p${n}`, { per_minute: 100, want: 10 }))
    const granted = (await Promise.all(asked)).map((reply) => reply.granted)
    expect(granted.reduce((sum, count) => sum + count, 0)).toBe(100)
  })

  test('are deleted by the cleanup when they are no longer used', async () => {
    await ask('a', { want: 0, used: ages(5, 5) })
    expect(await deleteOldSlots(db, 100)).toBe(0)
    await db.query("update quota_uses set used_at = used_at - interval '11 minutes'")
    expect(await deleteOldSlots(db, 3)).toBe(3)
    expect(await deleteOldSlots(db, 100)).toBe(2)
  })
})
