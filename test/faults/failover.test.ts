import pg from 'pg'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { writeRefusal } from '../../controlplane/db/connection/unavailable.ts'
import { openDb } from '../../controlplane/db/open.ts'
import type { Db } from '../../controlplane/db/query.ts'
import { eventually } from '../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../support/postgres.ts'
import { IS_FULL, size } from '../support/proof.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'
import { workerPostgres } from '../support/worker-postgres.ts'

const log = pino({ level: 'silent' })
const MAX = 5
/** The default of the product in the full proof, which also asserts the time of the recovery. */
const HANG = IS_FULL ? {} : { hangMs: 200 }
let postgres: TestPostgres
let database: TestDatabase
let relay: TcpRelay
let db: Db

beforeAll(async () => {
  postgres = await workerPostgres()
  database = await postgres.createDatabase()
})
afterAll(() => postgres?.stop())
beforeEach(async () => {
  relay = await startTcpRelay(database.url)
})
afterEach(async () => {
  await relay[Symbol.asyncDispose]()
  await db.close()
})

async function admin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl })
  await client.connect()
  await client.query(text)
  await client.end()
}
const many = (count: number) =>
  Promise.all(Array.from({ length: count }, () => db.query('select pg_sleep(0.02)')))

describe('after a failover that drops packets', () => {
  test('callers that wait for a connection get one of the new server', async () => {
    db = await openDb({ url: relay.url, log, max: MAX, ...HANG })
    await many(MAX * 2)
    relay.swallow({ onlyOpen: true })
    const outcomes = await Promise.allSettled(Array.from({ length: MAX * 4 }, () => db.query('select 1')))
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(MAX)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(MAX * 3)
  })

  test(
    'a warm pool answers again after the new server accepts connections, five times',
    async () => {
      db = await openDb({ url: relay.url, log, max: MAX, ...HANG })
      for (let round = 0; round < size(1, 5); round++) {
        await many(MAX * 2)
        // No server answers for a while: the connections, the checks and the attempts to connect hang.
        relay.swallow()
        const hung = Array.from({ length: MAX * 2 }, () =>
          db.query('select 1').catch((error: Error) => error),
        )
        await new Promise((resolve) => setTimeout(resolve, size(300, 12_000)))
        await relay.restore()
        const recovered = () =>
          many(MAX * 2).then(
            () => true,
            () => null,
          )
        await eventually('the database answers', recovered)
        await Promise.all(hung)
      }
    },
    size(90_000, 300_000),
  )
})

test('connections to a server that became a standby are replaced by connections to the new primary', async () => {
  await admin('create table if not exists written (n integer); grant all on written to public')
  const role = new URL(database.url).username
  await admin(`alter role ${role} set default_transaction_read_only = on`)
  db = await openDb({ url: relay.url, log, max: MAX })
  await many(MAX * 2)
  // Connections of the role keep the setting that they began with, like those to the old primary.
  await admin(`alter role ${role} reset default_transaction_read_only`)
  const refused = await db.query('insert into written values (1)').catch((error: unknown) => error)
  expect(writeRefusal((refused as Error).cause)).toBe('read-only')
  expect(refused).toMatchObject({ code: 'not_ready', message: expect.stringContaining('read-only') })
  for (let n = 0; n < MAX; n++) expect((await db.query('insert into written values (1)')).rowCount).toBe(1)
})
