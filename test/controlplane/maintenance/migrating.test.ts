import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { VERSION } from '../../../controlplane/version.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { caller, startControlPlane } from '../routes/start.ts'

/** Key of the advisory lock of migrations. */
const LOCK = 7_245_118_001
let server: TestPostgres

beforeAll(async () => {
  server = await workerPostgres()
})
afterAll(() => server?.stop())

async function sql(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

test('while the database is migrated the liveness probe succeeds, and everything else says why it waits', async () => {
  const database = await server.createDatabase()
  const other = await sql(database.url)
  await other.query('select pg_advisory_lock($1)', [LOCK])
  const port = await freePort()
  const call = caller(`http://127.0.0.1:${port}`, {})
  const starting = startControlPlane(database, { HOST: '127.0.0.1', PORT: String(port) })
  const live = await eventually('an answer', () => call('GET', '/livez').catch(() => null))
  expect(live).toMatchObject({ status: 200, body: { status: 'ok' } })
  for (const path of ['/readyz', '/api/health', '/internal/stream']) {
    const answer = await call('GET', path)
    expect(answer).toMatchObject({
      status: 503,
      body: { status: 'migrating', error: 'Migrating the database' },
    })
    expect(answer.headers.get('retry-after')).toBe('5')
  }
  await other.end()
  const plane = await starting
  expect(await plane.call('GET', '/readyz')).toMatchObject({ status: 200, body: { status: 'ok' } })
  expect(plane.log()).toContain('another replica migrates the database, waiting')
  await plane.close()
})

test('a control plane that is rolled back by one minor version starts, by two it does not', async () => {
  const database = await server.createMigratedDatabase()
  const [major, minor] = VERSION.split('.').map(Number) as [number, number]
  const client = await sql(database.url)
  const insert = 'insert into schema_migrations (number, name, version) values ($1, $2, $3)'
  await client.query(insert, [900, '900-next.sql', `${major}.${minor + 1}.0`])
  const plane = await startControlPlane(database)
  expect((await plane.call('GET', '/readyz')).status).toBe(200)
  await plane.close()
  await client.query(insert, [901, '901-after.sql', `${major}.${minor + 2}.0`])
  await expect(startControlPlane(database)).rejects.toThrow(
    /migrated by Chaperone .* Start Chaperone .*, or set DATABASE_URL to another database/,
  )
  await client.end()
})
