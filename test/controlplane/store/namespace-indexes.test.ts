import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { listAuditEvents } from '../../../controlplane/features/audit/reading-store.ts'
import { searchAudit } from '../../../controlplane/features/audit/search-store.ts'
import { countAuditEvents } from '../../../controlplane/features/audit/totals-store.ts'
import { countByTime } from '../../../controlplane/features/overview/activity-store.ts'
import { listTraffic } from '../../../controlplane/features/traffic/rows.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { plansOf, touchedRows } from '../../support/query-plan.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

/** A small tenant beside one with many requests, all of today; `gateway` has requests without an agent. */
const OTHERS = 20_000
const OWN = 40
let server: TestPostgres
let db: Db
let orgId: string

beforeAll(async () => {
  server = await workerPostgres()
  db = await openDb({ url: (await server.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  await migrate(db)
  orgId = (await db.tx((q) => ensureOrg(q))).id
  const fill = async (namespace: string, count: number) => {
    await db.query(
      `insert into traffic (id, time, seq, process_id, org_id, gateway, agent, decision, method, latency_ms, overhead_ms,
         bytes_in, bytes_out, transport)
       select $2 || n, now() - n * interval '1 ms', n, 'p', $1, $2 || '/main', case when n % 4 > 0 then $2 || '/bot' end,
         'ALLOW', 'GET', 1, 1, 0, 0, 'forward' from generate_series(1, $3::int) as n`,
      [orgId, namespace, count],
    )
    await db.query(
      `insert into audit_events (event_type, org_id, namespace) select 'action.requested', $1, $2 from generate_series(1, $3::int)`,
      [orgId, namespace, count],
    )
  }
  await fill('small', OWN)
  await fill('large', OTHERS)
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})

/** What the statements of the work touched. */
async function touchedBy(work: (q: Query) => Promise<unknown>): Promise<number> {
  return (await plansOf(db, work)).reduce((sum, plan) => sum + touchedRows(plan), 0)
}

const ofSmall = (q: Query) => createScopedQuery(q, new Set(['small', 'none']))
const hour = () => ({
  from: new Date(Date.now() - 3_600_000).toISOString(),
  to: new Date(Date.now() + 60_000).toISOString(),
  bucketSeconds: 3_600,
})
const audit = { filter: {}, before: null, limit: 10 }
const READINGS = {
  'the newest requests': (q) => listTraffic(ofSmall(q), orgId, { filter: {}, limit: 10 }),
  'requests by a text': (q) => listTraffic(ofSmall(q), orgId, { filter: { q: 'nowhere' }, limit: 10 }),
  'activity of an hour': (q) => countByTime(ofSmall(q), orgId, hour()),
  'the newest audit events': (q) => searchAudit(ofSmall(q), orgId, audit),
  'audit events for an agent': (q) =>
    listAuditEvents(q, { orgId, of: 'namespace', key: 'small' }, { limit: 10, offset: 0 }),
  'the number of audit events': (q) => countAuditEvents(q, { orgId, of: 'namespace', key: 'small' }, null),
} as const satisfies Readonly<Record<string, (q: Query) => Promise<unknown>>>

test.each(Object.entries(READINGS))(
  'the rights in a small namespace never search the rows of large ones: %s',
  async (_, read) => {
    // With and without statistics of the tables.
    expect(await touchedBy(read)).toBeLessThan(10 * OWN)
    await db.query('analyze traffic')
    await db.query('analyze audit_events')
    expect(await touchedBy(read)).toBeLessThan(10 * OWN)
  },
)

test('a page of a namespace touches about as many rows as it has, however many the namespace has', async () => {
  await db.query('analyze traffic')
  const ofBoth = (q: Query) => createScopedQuery(q, new Set(['small', 'large']))
  const page = (q: Query) => listTraffic(ofBoth(q), orgId, { filter: {}, limit: 10 })
  expect(await touchedBy(page)).toBeLessThan(10 * OWN)
  const { records: found } = await page(db)
  const { rows } = await db.query<{ id: string }>(
    'select id from traffic order by time desc, id desc limit 10',
    [],
  )
  expect(found.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
})
