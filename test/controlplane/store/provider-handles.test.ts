import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { deleteOldHandles } from '../../../controlplane/features/maintenance/store.ts'
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

test('handles are kept for 90 days, and the newest 100,000 of an agent', async () => {
  await db.query(
    `insert into provider_handles (hash, agent_id, kind, gateway, received_at)
     select n::text, 'busy', 'response', 'gw', now() - make_interval(secs => n) from generate_series(1, 100_003) n
     union all select 'young', 'quiet', 'file', 'gw', now() - interval '89 days'
     union all select 'old', 'quiet', 'file', 'gw', now() - interval '91 days'`,
    [],
  )
  expect(await deleteOldHandles(db, 2)).toBe(2)
  expect(await deleteOldHandles(db, 5_000)).toBe(2)
  const { rows } = await db.query(
    `select agent_id, count(*)::int as kept, max(extract(day from now() - received_at))::int as days
     from provider_handles group by agent_id order by agent_id`,
    [],
  )
  expect(rows).toEqual([
    { agent_id: 'busy', kept: 100_000, days: 1 },
    { agent_id: 'quiet', kept: 1, days: 89 },
  ])
})
