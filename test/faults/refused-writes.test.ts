import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  at,
  type Call,
  register,
  startControlPlane,
  type TestControlPlane,
} from '../controlplane/routes/start.ts'
import { eventually } from '../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../support/postgres.ts'
import { IS_FULL } from '../support/proof.ts'
import { workerPostgres } from '../support/worker-postgres.ts'

let postgres: TestPostgres
let database: TestDatabase
let plane: TestControlPlane
let owner: Call
let admin: pg.Client

beforeAll(async () => {
  postgres = await workerPostgres()
  // With a role of its own, because migrated databases share theirs, whose settings this test changes.
  database = await postgres.createDatabase()
  admin = new pg.Client({ connectionString: database.adminUrl })
  await admin.connect()
  plane = await startControlPlane(database)
  await register(plane.call, 'owner@example.com')
  owner = await plane.signIn('owner@example.com')
})
afterAll(async () => {
  await plane?.close()
  await admin?.end()
  await postgres?.stop()
})

const write = () => owner('PUT', '/api/dashboard/settings', { settings: { chat_channel_id: 'C1' } })
const health = () => plane.call('GET', '/api/health')
const healthy = (timeoutMs: number) =>
  eventually('health', async () => ((await health()).status === 200 ? true : null), timeoutMs)
const role = () => new URL(database.url).username
async function setReadOnly(isOn: boolean): Promise<void> {
  await admin.query(
    `alter role ${role()} ${isOn ? 'set default_transaction_read_only = on' : 'reset default_transaction_read_only'}`,
  )
}
/** As the connections to a server that restarted as a standby. */
async function closeConnections(): Promise<void> {
  await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role()}'`)
}

test('health reports a read-only database, also before a write is refused', async () => {
  await setReadOnly(true)
  await closeConnections()
  await eventually('connections to the read-only server', async () => {
    const { status, body } = await health()
    return status === 503 && at(body, 'checks', 'database', 'error') === 'unavailable' ? true : null
  })
  expect((await plane.call('GET', '/readyz')).status).toBe(200)
  await setReadOnly(false)
  await closeConnections()
  await healthy(30_000)
})

test('health reports a full disk', async () => {
  // The SQLSTATE with which PostgreSQL refuses to extend a file (disk_full).
  await admin.query(
    `create function full_disk() returns trigger language plpgsql as
     $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`,
  )
  await admin.query(
    'create trigger full_disk before insert or update on settings for each row execute function full_disk()',
  )
  await healthy(30_000)
  const refused = await write()
  expect(refused.status).toBe(503)
  expect(JSON.stringify(refused.body)).toContain('The disk of the database is full')
  const { status, body } = await health()
  expect(status).toBe(503)
  expect(body).toMatchObject({
    status: 'degraded',
    checks: { database: { status: 'error', error: 'unavailable' } },
  })
  await admin.query('drop trigger full_disk on settings')
  expect((await write()).status).toBe(200)
  if (IS_FULL) await healthy(30_000)
})

test('a write to a read-only database gets 503 with the reason, and the next one new connections', async () => {
  await setReadOnly(true)
  await closeConnections()
  // Until the pool has replaced its ended connections, a write fails with another error.
  const refused = await eventually('connections to the read-only server', async () => {
    const answer = await write()
    return answer.body['error'] === 'Database takes no writes' ? answer : null
  })
  expect(refused.status).toBe(503)
  await setReadOnly(false)
  await eventually('a write on new connections', async () => ((await write()).status === 200 ? true : null))
})
