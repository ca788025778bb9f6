import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isUnavailable } from '../../../controlplane/db/connection/unavailable.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { startTcpRelay, type TcpRelay } from '../../support/tcp-relay.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const log = pino({ level: 'silent' })
const MAX = 5
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
  db = await openDb({ url: relay.url, log, max: MAX, hangMs: 200 })
})
afterEach(async () => {
  await relay[Symbol.asyncDispose]()
  await db.close()
})

const answers = (count = 1) =>
  Promise.all(Array.from({ length: count }, () => db.query('select pg_sleep(0.02)')))
const recovered = () =>
  eventually('the database answers', () =>
    answers(MAX * 2).then(
      () => true,
      () => null,
    ),
  )

describe('after a failover that drops packets', () => {
  test('a warm pool recovers: what hangs is rejected, and the connections beside it are replaced', async () => {
    await answers(MAX * 2)
    relay.swallow({ onlyOpen: true })
    const hung = await db.query('select 1').catch((error: unknown) => error)
    expect(isUnavailable(hung)).toBe(true)
    // The idle ones of the old pool hang too, and would be tried one after the other.
    await answers(MAX)
  })

  test('a transaction is rejected between its statements and at its end, and leaves no connection behind', async () => {
    const between = db.tx(async (q) => {
      await q.query('select 1')
      relay.swallow({ onlyOpen: true })
      return q.query('select 1')
    })
    expect(isUnavailable(await between.catch((error: unknown) => error))).toBe(true)
    const atCommit = db.tx(async (q) => {
      await q.query('select 1')
      relay.swallow({ onlyOpen: true })
    })
    expect(isUnavailable(await atCommit.catch((error: unknown) => error))).toBe(true)
    await answers(MAX * 2)
  })

  test('notifications resume, and the reader is called to read again', async () => {
    const payloads: string[] = []
    const listening = await db.listen('of_the_test', (payload) => payloads.push(payload))
    relay.swallow({ onlyOpen: true })
    await eventually('connected again', () => (payloads.includes('') ? true : null))
    await recovered()
    await db.query("select pg_notify('of_the_test', 'here')")
    await eventually('the notification', () => (payloads.includes('here') ? true : null))
    await listening[Symbol.asyncDispose]()
  })
})

test('queries reject while no packet reaches the database, and succeed again once the network is back', async () => {
  await answers(MAX)
  relay.swallow()
  expect(isUnavailable(await db.query('select 1').catch((error: unknown) => error))).toBe(true)
  await relay.restore()
  await recovered()
})

test('a statement that is only slow is not cancelled', async () => {
  const { rows } = await db.query<{ slept: string }>("select pg_sleep(1.5), 'done' as slept")
  expect(rows[0]?.slept).toBe('done')
})

test('a statement that waits for a lock is not cancelled', async () => {
  await db.query('create table if not exists locked (n integer)')
  const taken = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = db.tx(async (q) => {
    await q.query('lock table locked')
    taken.resolve()
    await release.promise
  })
  await taken.promise
  const waiting = db.query('select count(*) from locked')
  setTimeout(release.resolve, 1_000)
  expect((await waiting).rowCount).toBe(1)
  await holder
})
