import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemActor } from '../../../controlplane/features/audit/actor.ts'
import { exposition } from '../../../controlplane/features/maintenance/metrics-exposition.ts'
import { createRetention } from '../../../controlplane/features/maintenance/service.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { type ExportWorld, startExportWorld, startLogsStub, trafficRecord } from './world.ts'

let postgres: TestPostgres

beforeAll(async () => {
  postgres = await workerPostgres()
})
afterAll(() => postgres.stop())

const DAY_MS = 86_400_000
const daysAgo = (days: number) => trafficRecord({ time: new Date(Date.now() - days * DAY_MS).toISOString() })
const log = pino({ level: 'silent' })
const storedIds = async ({ db }: ExportWorld) =>
  (await db.query<{ id: string }>('select id from traffic order by time')).rows.map(({ id }) => id)

/** Creates the destination without a replica that sends. */
const destination = ({ db }: ExportWorld) =>
  db.query(`insert into record_destinations (name) values ('otlp')`)

const cleanUp = ({ db, orgId }: ExportWorld, trafficRetentionHours: number, exportsRecords = true) =>
  createRetention({ db, orgId, log, auditRetentionDays: null, trafficRetentionHours, exportsRecords }).run(
    systemActor('test'),
  )

test('records that have not left are kept for seven days beyond their retention, and are then counted as dropped', async () => {
  await using world = await startExportWorld(postgres)
  await destination(world)
  const [older, old, fresh] = [daysAgo(12), daysAgo(5), daysAgo(0)]
  await world.store([older, old, fresh])
  await cleanUp(world, 24)
  expect(await storedIds(world)).toEqual([old.id, fresh.id])
  expect(await world.pending()).toBe(2)
  expect(await world.destination()).toMatchObject({ dropped: 1, sent: 0 })
  await using stub = await startLogsStub()
  await world.replica(stub.url)
  await world.drained()
  expect(stub.accepted).toEqual([old.id, fresh.id])
  await cleanUp(world, 24)
  expect(await storedIds(world)).toEqual([fresh.id])
  expect(await world.destination()).toMatchObject({ dropped: 1, sent: 2 })
})

test('without an export, the retention is that of the setting', async () => {
  await using world = await startExportWorld(postgres)
  const [old, fresh] = [daysAgo(5), daysAgo(0)]
  await world.store([old, fresh])
  await cleanUp(world, 168)
  expect(await storedIds(world)).toEqual([old.id, fresh.id])
  await cleanUp(world, 24)
  expect(await storedIds(world)).toEqual([fresh.id])
})

test('a record that is deleted before its export counts as dropped, and the others leave', async () => {
  await using world = await startExportWorld(postgres)
  await destination(world)
  const [gone, kept] = [trafficRecord(), trafficRecord()]
  await world.store([gone, kept])
  await world.db.query('delete from traffic where id = $1', [gone.id])
  await using stub = await startLogsStub()
  await world.replica(stub.url)
  await world.drained()
  expect(stub.accepted).toEqual([kept.id])
  expect(await world.destination()).toMatchObject({ sent: 1, dropped: 1 })
  expect(world.log()).toContain(
    'records reached the end of their retention and were deleted before they were exported',
  )
})

test('a destination ends when no replica has had it for an hour, but not by a replica that exports', async () => {
  await using world = await startExportWorld(postgres)
  await destination(world)
  await world.store([trafficRecord()])
  await cleanUp(world, 168, false)
  expect(await world.pending()).toBe(1)
  await world.db.query(`update record_destinations set seen_at = now() - interval '61 minutes'`)
  await cleanUp(world, 168)
  expect(await world.pending()).toBe(1)
  expect((await cleanUp(world, 168, false)).also_cleaned.ended_exports).toBe(1)
  expect(await world.pending()).toBe(0)
  await world.store([trafficRecord()])
  expect(await world.pending()).toBe(0)
})

test('the cleanup runs as often as a retention of hours needs it', async () => {
  await using world = await startExportWorld(postgres)
  const { db, orgId } = world
  const hourly = createRetention({ db, orgId, log, auditRetentionDays: null, trafficRetentionHours: 1 })
  const daily = createRetention({ db, orgId, log, auditRetentionDays: null })
  await cleanUp(world, 168)
  expect(await hourly.runWhenDue()).toBeNull()
  await db.query(`update maintenance set last_cleanup_at = now() - interval '61 minutes'`)
  expect(await daily.runWhenDue()).toBeNull()
  expect((await hourly.runWhenDue())?.status).toBe('ok')
})

test('the lag is the age of the oldest record that has not left', async () => {
  await using world = await startExportWorld(postgres)
  await destination(world)
  await world.store([trafficRecord(), trafficRecord()])
  await world.db.query(
    `update record_outbox set queued_at = now() - interval '1000 seconds' where position = (select min(position) from record_outbox)`,
  )
  const found = await world.destination()
  expect(Math.floor(found.lagS / 10)).toBe(100)
  const text = await exposition({
    counts: { total: 0, lastHour: 0, decisions24h: { allow: 0, deny: 0, requires_approval: 0 } },
    ...{ invalid: { platform: 0, tenant: 0 }, connected: 0, version: 0, processes: [], kills: 0 },
    ...{ certificate: null, refusedBatches: new Map(), channels: [], minted: [], narrowedTokens: new Map() },
    destinations: [{ ...found, sent: 7, rejected: 2, dropped: 1, errors: 4 }],
  })
  expect(text).toMatch(/^svc_record_export_lag_seconds\{destination="otlp"\} 100\d/m)
  for (const [name, count] of [
    ['sent', 7],
    ['rejected', 2],
    ['dropped', 1],
    ['errors', 4],
  ] as const)
    expect(text).toContain(`svc_record_export_${name}_total{destination="otlp"} ${count}\n`)
})
