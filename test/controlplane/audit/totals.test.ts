import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createAuditReading } from '../../../controlplane/features/audit/reading.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let server: TestPostgres
let db: Db
let orgId: string

beforeAll(async () => {
  server = await workerPostgres()
  db = await openDb({ url: (await server.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  await migrate(db)
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})
beforeEach(async () => {
  await db.query("select purge_audit_events($1, now() + interval '1 day')", [orgId])
  await db.query('delete from audit_totals')
})

/** Events of two agents in turn, `age` ago. */
async function events(count: number, age: string): Promise<void> {
  await db.query(
    `insert into audit_events (event_type, org_id, agent_id, created_at)
     select 'action.requested', $1, 'agent_' || n % 2, now() - $3::interval from generate_series(1, $2) as n`,
    [orgId, count, age],
  )
}

/** As a process that has just started sees it. */
async function total(agentId: string | null = null): Promise<number> {
  return (
    await createAuditReading({ db, orgId }).page(
      agentId === null ? { of: 'all' } : { of: 'agent', key: agentId },
      { limit: 1, offset: 0 },
    )
  ).total
}

async function real(agentId: string | null = null): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'select count(*) as n from audit_events where $1::text is null or agent_id = $1',
    [agentId],
  )
  return rows[0]?.n ?? -1
}

test('a process that starts counts on from what another one has counted', async () => {
  await events(12_000, '1 day')
  expect(await total()).toBe(12_000)
  // Only whoever reads the stored total is fooled by it.
  await db.query("update audit_totals set events = events + 1000 where agent_id = ''")
  await events(5, '0 s')
  expect(await total()).toBe(13_005)
})

test('no total covers events that open transactions may precede, and a short log has no total', async () => {
  await events(12_000, '1 s')
  expect(await total()).toBe(12_000)
  expect((await db.query('select from audit_totals')).rowCount).toBe(0)
  await events(9_000, '1 day')
  expect(await total('agent_0')).toBe(10_500)
  expect((await db.query('select from audit_totals')).rowCount).toBe(0)
})

test('the total of a namespace is counted anew by each process, because retention takes nothing from a stored one', async () => {
  await db.query(
    `insert into audit_events (event_type, org_id, agent_id, namespace, created_at)
     select 'action.requested', $1, 'team', 'team', now() - case when n <= 400 then '400 days' else '1 day' end::interval
     from generate_series(1, 12000) as n`,
    [orgId],
  )
  const reading = createAuditReading({ db, orgId })
  const of = async (from: typeof reading) =>
    (await from.page({ of: 'namespace', key: 'team' }, { limit: 1, offset: 0 })).total
  expect(await total('team')).toBe(12_000)
  expect(await of(reading)).toBe(12_000)
  expect((await db.query('select from audit_totals')).rowCount).toBe(1)
  await db.query("select purge_audit_events($1, now() - interval '365 days')", [orgId])
  expect(await of(reading)).toBe(11_600)
  expect(await of(createAuditReading({ db, orgId }))).toBe(11_600)
})

test('retention subtracts the removed events from the totals, of all agents and of each agent', async () => {
  await events(15_000, '400 days')
  await events(11_000, '1 day')
  const old = createAuditReading({ db, orgId })
  const page = { limit: 1, offset: 0 }
  for (const agent of [null, 'agent_0', 'agent_1']) expect(await total(agent)).toBe(await real(agent))
  expect((await old.page({ of: 'all' }, page)).total).toBe(26_000)
  expect((await db.query('select from audit_totals')).rowCount).toBe(3)
  await db.query("select purge_audit_events($1, now() - interval '365 days')", [orgId])
  for (const agent of [null, 'agent_0', 'agent_1']) expect(await total(agent)).toBe(await real(agent))
  // A process that had counted before the purge notices it.
  expect((await old.page({ of: 'all' }, page)).total).toBe(11_000)
  const { rows } = await db.query<{ events: number }>('select events from audit_totals order by agent_id')
  expect(rows.map((row) => row.events)).toEqual([11_000, 5_500, 5_500])
})

test('a purge while others count and write totals never leaves a wrong one', async () => {
  for (let round = 0; round < 6; round++) {
    await events(12_000, round % 2 === 0 ? '400 days' : '1 day')
    await Promise.all([
      ...Array.from({ length: 6 }, (_, n) => total(n % 2 === 0 ? null : 'agent_0')),
      db.query("select purge_audit_events($1, now() - interval '365 days')", [orgId]),
    ])
    for (const agent of [null, 'agent_0']) expect(await total(agent)).toBe(await real(agent))
  }
})

/** Blocks of tables and indexes that a purge looks at. */
async function blocksOfPurge(): Promise<number> {
  type Plan = { readonly Plan: Readonly<Record<string, number>> }
  const { rows } = await db.query<{ 'QUERY PLAN': readonly Plan[] }>(
    "explain (analyze, buffers, format json) select purge_audit_events($1, now() - interval '365 days')",
    [orgId],
  )
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan
  return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
}

test('retention looks at what it removes, however long the log is and whatever came and went in it', async () => {
  const costs: number[] = []
  for (const kept of [5_000, 60_000]) {
    await events(kept, '1 day')
    await db.query('analyze audit_events')
    await events(50, '400 days')
    await blocksOfPurge()
    // What the first purge leaves behind is filled again.
    await events(50, '400 days')
    costs.push(await blocksOfPurge())
    expect(await real()).toBe(await total())
  }
  // Both logs have far more blocks; of the fifty events each is a few.
  for (const blocks of costs) {
    expect(blocks).toBeGreaterThan(50)
    expect(blocks).toBeLessThan(600)
  }
})
